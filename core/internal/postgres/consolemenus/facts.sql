-- name: menu_versions
-- The versions of the menus at all stores, and what they have in common.
SELECT
    concat_ws(
        ' ',
        cache_epoch(),
        pg_postmaster_start_time(),
        (SELECT version FROM menu_versions WHERE business_id = ?business AND store_id = 0),
        (SELECT json_agg(name ORDER BY name) FROM platforms WHERE business_id = ?business)
    ) AS basis,
    array_agg(store.id) AS stores,
    array_agg(coalesce(known.version, 0)) AS versions
FROM stores store
LEFT JOIN menu_versions known ON known.business_id = ?business AND known.store_id = store.id
WHERE store.business_id = ?business

-- name: unsold
-- The stores of ?stores that sell no item that can be ordered, with the platform. Quick checks come first: of items
-- that most stores are likely to sell, then of all items on all platforms. OFFSET keeps the planner from reading the
-- items of all stores.
WITH
platform AS MATERIALIZED (
    SELECT name
    FROM platforms
    WHERE business_id = ?business
),
-- The items that the catalogue hides on a platform.
restricted AS MATERIALIZED (
    SELECT item.id
    FROM catalogue_entities item
    WHERE item.business_id = ?business
        AND item.kind = 1
        AND EXISTS (SELECT FROM platform WHERE ?catalogue_reason <> '')
),
-- Of the items with the fewest option groups, five that every platform lists.
likely AS MATERIALIZED (
    SELECT item.id
    FROM (
        SELECT
            item.*,
            (
                SELECT count(*)
                FROM menu_links link
                WHERE link.business_id = ?business AND link.relation = 1 AND link.to_id = item.id
            ) AS groups
        FROM catalogue_entities item
        WHERE item.business_id = ?business AND item.kind = 1 AND item.active
        ORDER BY groups, item.id
        LIMIT 20
    ) item
    WHERE NOT EXISTS (SELECT FROM platform WHERE ?catalogue_reason <> '')
    LIMIT 5
),
?required_groups
unknown AS MATERIALIZED (
    SELECT store.business_id, store.id
    FROM stores store
    WHERE store.business_id = ?business
        AND store.id = ANY (?stores)
        AND NOT EXISTS (
            SELECT
            FROM likely
            JOIN store_overrides override
                ON override.business_id = store.business_id
                AND override.store_id = store.id
                AND override.kind = 1
                AND override.id = likely.id
                AND (override.content ->> 'available')::boolean
                AND coalesce((override.content ->> 'current_stock')::bigint, -1) <> 0
            WHERE NOT ?may_lack_required
            OFFSET 0
        )
        AND NOT EXISTS (
            SELECT
            FROM store_overrides override
            WHERE override.business_id = store.business_id
                AND override.store_id = store.id
                AND override.kind = 1
                AND (override.content ->> 'available')::boolean
                AND coalesce((override.content ->> 'current_stock')::bigint, -1) <> 0
                AND override.id NOT IN (SELECT id FROM restricted)
                AND NOT ?may_lack_options
            OFFSET 0
        )
)
SELECT store.id, platform.name
FROM unknown store
CROSS JOIN platform
WHERE NOT ?sells_on

-- name: store_reasons
-- The stores of ?stores with a reason why the item cannot be ordered there.
WITH
?required_groups
store AS MATERIALIZED (
    SELECT store.id, ?store_reason AS reason
    FROM unnest(?stores::bigint[]) store (id)
    LEFT JOIN store_overrides override
        ON override.business_id = ?business
        AND override.store_id = store.id
        AND override.kind = 1
        AND override.id = ?item
)
SELECT id, reason
FROM store
WHERE reason <> ''
