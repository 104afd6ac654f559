-- name: put_back
-- Common table expressions that restore the rows that existed before.
WITH
back AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(NULL::?row, undone.row) AS earlier
    WHERE NOT undone.made
),
changed AS (
    INSERT INTO ?table
    SELECT * FROM back
    RETURNING *
)

-- name: put_back_timings
-- The same for timing groups, which get new ids, with their categories.
WITH
back AS (
    SELECT earlier.*
    FROM (?undone) undone
    CROSS JOIN LATERAL json_populate_record(NULL::?row, undone.row) AS earlier
    WHERE NOT undone.made
),
changed AS (
    INSERT INTO timing_groups (business_id, title, day_slots, updated_at)
    SELECT business_id, title, day_slots, updated_at
    FROM back
    RETURNING *
),
members AS (
    INSERT INTO timed_categories (business_id, group_id, category_id)
    SELECT changed.business_id, changed.id, unnest(back.category_ids)
    FROM changed
    JOIN back ON back.title = changed.title
)
