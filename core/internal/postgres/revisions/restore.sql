-- name: restore
-- Common table expressions that restore the rows that existed before.
WITH
restored AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(NULL::?row, undone.row) AS earlier
    WHERE NOT undone.created
),
changed AS (
    INSERT INTO ?table
    SELECT * FROM restored
    RETURNING *
)

-- name: restore_timings
-- The same for timing groups, which get new ids, with their categories.
WITH
restored AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(NULL::?row, undone.row) AS earlier
    WHERE NOT undone.created
),
changed AS (
    INSERT INTO timing_groups (business_id, title, day_slots, updated_at)
    SELECT business_id, title, day_slots, updated_at
    FROM restored
    RETURNING *
),
members AS (
    INSERT INTO timed_categories (business_id, group_id, category_id)
    SELECT changed.business_id, changed.id, unnest(restored.category_ids)
    FROM changed
    JOIN restored ON restored.title = changed.title
)
