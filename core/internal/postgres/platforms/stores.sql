-- name: store_ref
-- The ref_id of the store with a platform store id, else of the store without one that has it as its ref_id.
SELECT coalesce(
    (
        SELECT store.ref_id
        FROM stores store
        JOIN platforms platform ON platform.business_id = store.business_id AND platform.name = ?platform
        WHERE store.business_id = ?business
            AND store.platform_data @> ?named::jsonb
            AND nullif(?given_id, '') = ?id
        ORDER BY store.id
        LIMIT 1
    ),
    (
        SELECT store.ref_id
        FROM stores store
        JOIN platforms platform ON platform.business_id = store.business_id AND platform.name = ?platform
        WHERE store.business_id = ?business AND store.ref_id = ?id AND ?given_id = ''
    ),
    ''
)

-- name: names
-- The platforms of a business, each without an alias and with each of its aliases.
SELECT name, '', false
FROM platforms
WHERE business_id = ?business
UNION ALL
SELECT platform, alias, sent
FROM platform_aliases
WHERE business_id = ?business

-- name: shared_platform_store
-- The first platform store id that several stores share, and two of these stores.
SELECT id, min(ref_id), max(ref_id)
FROM (
    SELECT
        store.ref_id,
        coalesce(nullif(?given_id, ''), CASE WHEN ?listed_on THEN store.ref_id END) AS id
    FROM stores store
    JOIN platforms platform
        ON platform.business_id = store.business_id
        AND platform.name = ?platform
        AND platform.served_by <> 'own'
    WHERE store.business_id = ?business
) platform_store
WHERE id IS NOT NULL
GROUP BY id
HAVING count(*) > 1
ORDER BY id
LIMIT 1

-- name: platform_stores
-- The platform stores of a business with any of the given ids (store.PlatformStore). The inner condition first
-- excludes stores that have none of them.
SELECT *
FROM (
    SELECT
        store.id AS store_id,
        store.ref_id,
        platform.name AS platform,
        platform_store.listed,
        coalesce(nullif(platform_store.given, ''), CASE WHEN platform_store.listed THEN store.ref_id END) AS id
    FROM stores store
    JOIN platforms platform ON platform.business_id = store.business_id AND platform.served_by <> 'own'
    CROSS JOIN LATERAL (SELECT ?given_id AS given, ?listed_on AS listed) platform_store
    WHERE store.business_id = ?business
        AND (
            store.ref_id = ANY (?ids::text[])
            OR EXISTS (
                SELECT 1
                FROM jsonb_array_elements(store.platform_data) data
                WHERE data ->> 'platform_store_id' = ANY (?ids::text[])
            )
        )
) known
WHERE id = ANY (?ids::text[])
