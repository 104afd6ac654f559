-- name: first_names
-- The names of the first changed objects of revisions: a few ids of the first few parts of each.
SELECT
    part.revision_id,
    coalesce(store.ref_id, found.name, changed.row ->> 'name', changed.row ->> 'title')
FROM unnest(?revisions::uuid[]) AS revision (id)
CROSS JOIN LATERAL (
    SELECT *
    FROM revision_parts
    WHERE business_id = ?business AND revision_id = revision.id
    ORDER BY n
    LIMIT ?parts
) part
CROSS JOIN LATERAL unnest(part.ids[:?ids]) WITH ORDINALITY AS entity (id, position)
CROSS JOIN LATERAL (SELECT part.rows -> (entity.position - 1)::int AS row) changed
LEFT JOIN stores store ON part.table_name = 'stores' AND store.business_id = ?business AND store.id = entity.id
LEFT JOIN catalogue_entities found
    ON found.business_id = ?business
    AND found.id = entity.id
    AND found.kind = CASE part.table_name
        WHEN 'stores' THEN NULL
        WHEN 'timing_groups' THEN NULL
        WHEN 'menu_links' THEN (?owners::int[])[part.kind + 1]
        ELSE part.kind
    END
WHERE coalesce(store.ref_id, found.name, changed.row ->> 'name', changed.row ->> 'title') IS NOT NULL
ORDER BY part.n, entity.position

-- name: changed_since
-- The latest revision, and the number of entities of each kind that have changed since a revision, with the first
-- names.
SELECT
    latest.id,
    changed.kind,
    count(DISTINCT changed.id),
    coalesce(
        (array_agg(DISTINCT entity.name ORDER BY entity.name) FILTER (WHERE entity.name IS NOT NULL))[:?names], '{}'
    )
FROM (
    SELECT id
    FROM revisions
    WHERE business_id = ?business
    ORDER BY id DESC
    LIMIT 1
) latest
LEFT JOIN (
    SELECT
        CASE part.table_name
            WHEN 'timing_groups' THEN ?timing
            WHEN 'menu_links' THEN (?owners::int[])[part.kind + 1]
            ELSE part.kind
        END AS kind,
        unnest(part.ids) AS id
    FROM revision_parts part
    WHERE part.business_id = ?business
        AND part.table_name IN ('catalogue_entities', 'menu_links', 'store_overrides', 'timing_groups')
        AND part.n > (
            SELECT max(n)
            FROM revision_parts
            WHERE business_id = ?business AND revision_id = ?revision
        )
) changed ON true
LEFT JOIN catalogue_entities entity
    ON entity.business_id = ?business AND entity.kind = changed.kind AND entity.id = changed.id
GROUP BY 1, 2

-- name: forget_timers
-- Deletes the timers that were set after a revision: they were requested after it, or their switch was recorded
-- after it. A switch may have waited, and the revision may be a switch itself. Those of switches that the rollback
-- keeps stay.
DELETE FROM item_timers timer
WHERE timer.business_id = ?business
    AND (
        timer.reference >= ?first
        OR EXISTS (
            SELECT 1
            FROM item_switches switch
            JOIN revisions revision
                ON revision.business_id = switch.business_id AND revision.id = ?revision AND switch.at > revision.at
            WHERE (switch.business_id, switch.store_id, switch.kind, switch.name)
                = (timer.business_id, timer.store_id, timer.kind, timer.name)
        )
    )
    AND NOT EXISTS (
        SELECT 1
        FROM item_switches switch
        WHERE switch.at > ?accepted
            AND (switch.business_id, switch.store_id, switch.kind, switch.name)
                = (timer.business_id, timer.store_id, timer.kind, timer.name)
    )

-- name: later_switches
-- The availability switches of each store that were made after a time.
SELECT
    store_id,
    available,
    coalesce(array_agg(name ORDER BY name) FILTER (WHERE kind = ?items), '{}') AS items,
    coalesce(array_agg(name ORDER BY name) FILTER (WHERE kind = ?options), '{}') AS options
FROM item_switches
WHERE business_id = ?business AND at > ?accepted
GROUP BY store_id, available
ORDER BY store_id, available

-- name: present
-- An entity of the catalogue, or its values at a store, in the form of differences; empty if there are none.
SELECT
    coalesce(
        (
            SELECT override.content
            FROM stores store
            JOIN store_overrides override
                ON override.business_id = store.business_id
                AND override.store_id = store.id
                AND override.kind = entity.kind
                AND override.id = entity.id
            WHERE store.business_id = ?business AND store.ref_id = ?store
        )::text,
        CASE WHEN ?store = '' THEN json_build_object('active', entity.active, 'record', entity.record)::text END,
        ''
    )
FROM catalogue_entities entity
WHERE entity.business_id = ?business AND entity.kind = ?kind AND entity.name = ?name
