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

-- name: item_stores
-- An item at the stores, looked up by the key of each row: an index by item would slow every menu write. One named
-- store is returned even without the item.
SELECT
    ?columns,
    override.id IS NOT NULL AS sold,
    coalesce(override.content ->> 'price', '') AS price,
    coalesce((override.content ->> 'available')::boolean, false) AS available,
    coalesce((override.content ->> 'current_stock')::bigint, -1) AS stock,
    -- The first group of the item that requires more options than the store can sell (menu.Effective). Groups
    -- without any option at the store are ignored, and so are groups nested under options.
    coalesce(
        (
            SELECT option_group.name
            FROM menu_links link
            JOIN catalogue_entities option_group
                ON option_group.business_id = link.business_id
                AND option_group.kind = 2
                AND option_group.id = link.from_id
                AND option_group.active
            CROSS JOIN LATERAL (
                SELECT
                    count(*) AS sold,
                    count(*) FILTER (WHERE entity.active AND (option.content ->> 'available')::boolean) AS available
                FROM menu_links inside
                JOIN catalogue_entities entity
                    ON entity.business_id = inside.business_id AND entity.kind = 3 AND entity.id = inside.from_id
                JOIN store_overrides option
                    ON option.business_id = inside.business_id
                    AND option.store_id = store.id
                    AND option.kind = 3
                    AND option.id = inside.from_id
                WHERE inside.business_id = option_group.business_id
                    AND inside.relation = 2
                    AND inside.to_id = option_group.id
            ) options
            WHERE link.business_id = store.business_id
                AND link.relation = 1
                AND link.to_id = ?item
                AND options.sold > 0
                AND options.available < CASE
                    WHEN (option_group.record ->> 'multi_options_enabled')::boolean
                        THEN least((option_group.record ->> 'min_selectable')::bigint, 1)
                    ELSE (option_group.record ->> 'min_selectable')::bigint
                END
            ORDER BY option_group.name
            LIMIT 1
        ),
        ''
    ) AS unmet,
    coalesce(override.content::text, '{}') AS content
FROM (SELECT *, ?closed_on AS closed_on FROM stores) store
LEFT JOIN store_overrides override
    ON override.business_id = store.business_id
    AND override.store_id = store.id
    AND override.kind = ?items
    AND override.id = ?item
WHERE store.business_id = ?business
    AND CASE WHEN ?store = '' THEN override.id IS NOT NULL ELSE store.ref_id = ?store END
ORDER BY store.ref_id
LIMIT ?limit
