-- name: published_store
-- The requests that wait for a publication, and the store's id on the platform. That is '' if the platform does not
-- have it.
SELECT
    pending_references,
    CASE
        WHEN sent_menu::jsonb ->> 'platform_store_id' <> '' THEN sent_menu::jsonb ->> 'platform_store_id'
        WHEN published_at IS NULL AND platform_store_id IS NULL OR state = 'unlisted' AND ?listed THEN ''
        ELSE coalesce(platform_store_id, ?now)
    END
FROM publications
WHERE business_id = ?business AND store_id = ?store AND platform = ?platform

-- name: left_out
-- The findings of a platform against the items of a store, and against what they belong to.
SELECT DISTINCT
    coalesce(nullif(finding.entity, ''), 'item') AS kind,
    coalesce(nullif(finding.ref_id, ''), entity.name) AS ref_id,
    finding.rule,
    finding.message
FROM platform_findings finding
JOIN store_overrides override
    ON override.business_id = finding.business_id
    AND override.store_id = ?store
    AND override.kind = 1
    AND override.id = finding.item_id
JOIN catalogue_entities entity
    ON entity.business_id = finding.business_id AND entity.kind = 1 AND entity.id = finding.item_id
WHERE finding.business_id = ?business AND finding.platform = ?platform AND NOT finding.warning
ORDER BY ref_id, kind, finding.rule

-- name: stores_to_check
-- The stores with findings on a platform, and perhaps those that it lists.
SELECT store.id, store.ref_id
FROM stores store
JOIN platforms platform ON platform.business_id = store.business_id AND platform.name = ?platform
WHERE store.business_id = ?business
    AND store.id > ?after
    AND (
        ?listed AND ?listed_on
        OR EXISTS (
            SELECT 1
            FROM platform_findings finding
            WHERE finding.business_id = store.business_id
                AND finding.item_id = 0
                AND finding.platform = platform.name
                AND finding.store_id = store.id
        )
    )
ORDER BY store.id
LIMIT ?limit

-- name: versions
-- The versions that determine an effective menu, and whether the store takes orders on the platform.
SELECT
    coalesce(cache_epoch(), ''),
    store.id,
    platform.name,
    platform.served_by,
    coalesce((SELECT version FROM menu_versions WHERE business_id = ?business AND store_id = 0), 0),
    coalesce((SELECT version FROM menu_versions WHERE business_id = ?business AND store_id = store.id), 0),
    store.active AND store.ordering_enabled AND NOT EXISTS (
        SELECT 1
        FROM store_switches switch
        WHERE switch.business_id = store.business_id
            AND switch.store_id = store.id
            AND switch.platform = platform.name
            AND NOT switch.open
    )
FROM stores store
JOIN platforms platform
    ON platform.business_id = store.business_id
    AND platform.name = coalesce(
        (
            SELECT alias.platform
            FROM platform_aliases alias
            WHERE alias.business_id = ?business AND alias.alias = ?platform
        ),
        ?platform
    )
WHERE store.business_id = ?business AND store.ref_id = ?ref

-- name: write_timing
-- Stores a timing group and its categories.
WITH
written AS (
    INSERT INTO timing_groups (business_id, title, day_slots, updated_at)
    VALUES (?business, ?title, ?hours, ?now)
    ON CONFLICT (business_id, title) DO UPDATE
    SET day_slots = excluded.day_slots, updated_at = excluded.updated_at
    RETURNING id
),
removed AS (
    DELETE FROM timed_categories
    USING written
    WHERE business_id = ?business AND group_id = written.id AND category_id <> ALL (?categories::bigint[])
)
INSERT INTO timed_categories (business_id, group_id, category_id)
SELECT ?business, written.id, category
FROM written, unnest(?categories::bigint[]) AS category
ON CONFLICT DO NOTHING

-- name: rename_values
-- Replaces the values of items at stores.
UPDATE store_overrides override
SET content = renamed.content::json
FROM unnest(?stores::bigint[], ?ids::bigint[], ?contents::text[]) AS renamed (store_id, id, content)
WHERE override.business_id = ?business
    AND override.store_id = renamed.store_id
    AND override.kind = ?kind
    AND override.id = renamed.id
