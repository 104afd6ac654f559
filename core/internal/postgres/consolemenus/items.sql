-- name: item_categories
-- The categories of an item: whether they are open, and the closed parent category.
SELECT
    category.id,
    category.parent_id,
    category.name,
    coalesce(category.record ->> 'name', '') AS title,
    category.active AND coalesce(parent.active, true) AS open,
    CASE WHEN NOT parent.active THEN parent.name ELSE '' END AS under
FROM menu_links link
JOIN catalogue_entities category
    ON category.business_id = link.business_id AND category.kind = ?categories AND category.id = link.to_id
LEFT JOIN catalogue_entities parent
    ON category.parent_id <> 0
    AND parent.business_id = category.business_id
    AND parent.kind = category.kind
    AND parent.id = category.parent_id
WHERE link.business_id = ?business AND link.relation = ?item_category AND link.from_id = ?item
ORDER BY link.position, category.name

-- name: list_items
-- A page of items by ref_id, with the problems of each in the catalogue and by the rules of platforms.
SELECT
    item.id,
    item.name,
    coalesce(item.record ->> 'title', '') AS title,
    coalesce(item.record ->> 'price', '') AS price,
    item.active,
    json_typeof(item.record -> 'included_platforms') = 'array'
        AND json_array_length(item.record -> 'included_platforms') = 0 AS unlisted,
    ?category_inactive AS category_inactive,
    (
        SELECT count(*)
        FROM platform_findings finding
        WHERE finding.business_id = item.business_id AND finding.item_id = item.id AND NOT finding.warning
    ) AS findings,
    item.updated_at
FROM catalogue_entities item
WHERE item.business_id = ?business AND item.kind = 1 AND item.name > ?after ?only
ORDER BY item.name
LIMIT ?limit

-- name: lacking_items
-- The condition that a platform lacks the row item, by the menus that it accepted. An empty platform or store is any.
item.name IN (
    SELECT problem ->> 'ref_id'
    FROM publications publication
    JOIN stores store ON store.business_id = publication.business_id AND store.id = publication.store_id
    CROSS JOIN LATERAL jsonb_array_elements(publication.problems::jsonb || publication.left_out::jsonb) problem
    WHERE publication.business_id = ?business
        AND publication.state = 'published'
        AND (publication.problems <> '[]' OR publication.left_out <> '[]')
        AND (?platform = '' OR publication.platform = ?platform)
        AND (?store = '' OR store.ref_id = ?store)
        AND problem ->> 'entity' = 'item'
)

-- name: item_rejections
-- The messages of each platform about an item in accepted menus, with the number of stores, the latest first.
-- Equal problems of many stores are expanded once. They are grouped by a hash, because a sort would decompress long
-- texts at each comparison.
SELECT platform, message, stores
FROM (
    SELECT
        rejection.platform,
        problem.message,
        sum(rejection.stores)::bigint AS stores,
        row_number() OVER (
            PARTITION BY rejection.platform
            ORDER BY max(rejection.settled_at) DESC, problem.message
        ) AS n
    FROM (
        SELECT platform, min(store_id) AS store_id, count(*) AS stores, max(settled_at) AS settled_at
        FROM publications
        WHERE business_id = ?business AND state = 'published' AND problems LIKE ?pattern
        GROUP BY platform, hashtextextended(problems, 0)
    ) rejection
    JOIN publications publication ON publication.business_id = ?business
        AND publication.store_id = rejection.store_id AND publication.platform = rejection.platform
    CROSS JOIN LATERAL (
        SELECT DISTINCT element ->> 'message' AS message
        FROM jsonb_array_elements(publication.problems::jsonb) element
        WHERE element ->> 'entity' = 'item' AND element ->> 'ref_id' = ?ref
    ) problem
    GROUP BY rejection.platform, problem.message
) message
WHERE n <= ?limit
ORDER BY platform, n
