-- name: remove
-- A common table expression that deletes the rows that did not exist before.
WITH
changed AS (
    DELETE FROM ?table present
    USING (?undone) undone
    WHERE present.business_id = ?business AND undone.created AND ?same
    RETURNING present.*
)

-- name: restore
-- Common table expressions that restore the rows that existed before. Rows that are the same again are not written.
WITH
restored AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(
        json_populate_record(NULL::?row, undone.row), json_build_object('updated_at', ?now::timestamptz)
    ) AS earlier
    WHERE NOT undone.created
),
changed AS (
    INSERT INTO ?table AS present
    SELECT * FROM restored
    ON CONFLICT (business_id, ?keys) DO UPDATE
    SET ?assignments
    WHERE to_jsonb(present) - 'updated_at' <> to_jsonb(excluded) - 'updated_at'
    RETURNING *
)

-- name: restore_timings
-- The same for timing groups, with their categories. A group that was deleted gets a new id.
WITH
restored AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(NULL::?row, undone.row) AS earlier
    WHERE NOT undone.created
        AND NOT EXISTS (
            SELECT 1
            FROM ?present x
            WHERE x.business_id = ?business
                AND (x.title, x.day_slots, x.category_ids) = (earlier.title, earlier.day_slots, earlier.category_ids)
        )
),
changed AS (
    INSERT INTO timing_groups (business_id, title, day_slots, updated_at)
    SELECT business_id, title, day_slots, ?now
    FROM restored
    ON CONFLICT (business_id, title) DO UPDATE
    SET day_slots = excluded.day_slots, updated_at = excluded.updated_at
    RETURNING *
),
left_out AS (
    DELETE FROM timed_categories member
    USING changed
    JOIN restored ON restored.title = changed.title
    WHERE member.business_id = changed.business_id
        AND member.group_id = changed.id
        AND member.category_id <> ALL (restored.category_ids)
),
members AS (
    INSERT INTO timed_categories (business_id, group_id, category_id)
    SELECT changed.business_id, changed.id, unnest(restored.category_ids)
    FROM changed
    JOIN restored ON restored.title = changed.title
    ON CONFLICT DO NOTHING
)
