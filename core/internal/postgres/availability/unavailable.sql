-- name: unavailable
-- The items and options of a platform that are unavailable at a store, at most a limit of each.
SELECT listed.kind, listed.name
FROM (VALUES (1), (3)) AS kinds (kind)
CROSS JOIN LATERAL (
    SELECT override.kind, entity.name
    FROM store_overrides override
    JOIN catalogue_entities entity
        ON entity.business_id = override.business_id AND entity.kind = override.kind AND entity.id = override.id
    WHERE override.business_id = ?business
        AND override.store_id = ?store
        AND override.kind = kinds.kind
        AND entity.active
        AND (
            NOT coalesce((override.content ->> 'available')::boolean, false)
            OR override.kind = 1 AND (override.content ->> 'current_stock')::bigint = 0
        )
        AND (
            json_typeof(entity.record -> 'included_platforms') IS DISTINCT FROM 'array'
            OR EXISTS (
                SELECT
                FROM json_array_elements_text(entity.record -> 'included_platforms') included (name)
                WHERE included.name = ?platform
            )
        )
        AND NOT EXISTS (
            SELECT
            FROM platform_findings finding
            WHERE finding.business_id = override.business_id
                AND override.kind = 1
                AND finding.item_id = override.id
                AND finding.platform = ?platform
                AND NOT finding.warning
        )
    ORDER BY entity.name COLLATE "C"
    LIMIT ?limit
) listed
ORDER BY listed.kind, listed.name COLLATE "C"
