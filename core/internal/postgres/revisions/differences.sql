-- name: differences
-- The rows of a table that revision.id changed, before and after it. The state after it is the one before the next
-- change of the row, or the current one. The rows x and y are of the type of the table. "only" narrows the parts. The
-- first and last revision bound the partitions.
(
    SELECT
        part.n,
        changed.position,
        part.table_name::text,
        (?kind)::int AS kind,
        ?ref AS ref,
        coalesce(
            (
                SELECT store.ref_id
                FROM stores store
                WHERE store.business_id = part.business_id AND store.id = part.store_id
            ),
            ''
        ) AS location,
        CASE WHEN NOT part.created THEN ?shown_x END AS was,
        CASE
            WHEN later.n IS NOT NULL THEN CASE WHEN NOT later.created THEN later.shown END
            ELSE (SELECT ?shown_y FROM ?present y WHERE y.business_id = part.business_id AND ?same)
        END AS became
    FROM revision_parts part
    CROSS JOIN LATERAL json_array_elements(part.rows) WITH ORDINALITY AS changed (row, position)
    CROSS JOIN LATERAL json_populate_record(NULL::?row, changed.row) AS x
    -- The next change of the row.
    LEFT JOIN LATERAL (
        SELECT next.n, next.created, ?shown_y AS shown
        FROM revision_parts next
        CROSS JOIN LATERAL json_array_elements(next.rows) AS changed_next
        CROSS JOIN LATERAL json_populate_record(NULL::?row, changed_next) AS y
        WHERE next.business_id = part.business_id
            AND next.table_name = part.table_name
            AND next.n > part.n
            AND next.ids @> ARRAY[?id]
            AND ?same
        ORDER BY next.n
        LIMIT 1
    ) later ON true
    WHERE part.business_id = ?business
        AND part.revision_id = revision.id
        AND part.revision_id BETWEEN ?first AND ?last
        AND part.table_name = ?table
        ?only
)

-- name: shown_timing
-- The JSON of a timing group in a difference.
json_build_object(
    'title', ?row.title,
    'category_ref_ids', ARRAY(
        SELECT category.name
        FROM catalogue_entities category
        WHERE category.business_id = part.business_id AND category.kind = 0 AND category.id = ANY (?row.category_ids)
        ORDER BY category.name
    ),
    'day_slots', ?row.day_slots::json
)
