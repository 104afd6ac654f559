-- Values that plugins keep.

-- name: read_values
-- The values of a platform, then those of a store, which replace them.
SELECT name, value
FROM platform_values
WHERE business_id = ?business
    AND platform = ?platform
    AND store_id IN (0, (SELECT id FROM stores WHERE business_id = ?business AND ref_id = ?store))
ORDER BY store_id

-- name: keep_value
-- Stores a value, unless it is a further one above the limit. The platform is locked.
INSERT INTO platform_values AS known (business_id, platform, store_id, name, value, updated_at)
SELECT ?business, ?platform, ?store, ?name, ?value, ?now
WHERE EXISTS (
        SELECT
        FROM platform_values
        WHERE business_id = ?business AND platform = ?platform AND store_id = ?store AND name = ?name
    )
    OR (
        SELECT count(*)
        FROM platform_values
        WHERE business_id = ?business AND platform = ?platform AND store_id = ?store
    ) < ?most
ON CONFLICT (business_id, platform, store_id, name) DO UPDATE
SET value = excluded.value, updated_at = excluded.updated_at

-- name: list_values
-- The values of the platforms of a business, those of the platform first, up to a limit for each.
SELECT ranked.platform, coalesce(store.ref_id, ''), ranked.name, ranked.value, ranked.updated_at
FROM (
    SELECT *, row_number() OVER (PARTITION BY platform ORDER BY store_id, name) AS n
    FROM platform_values
    WHERE business_id = ?business
) ranked
LEFT JOIN stores store ON store.business_id = ?business AND store.id = ranked.store_id
WHERE ranked.n <= ?most
ORDER BY ranked.platform, ranked.n
