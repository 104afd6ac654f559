-- name: category_inactive
-- Whether the row item has a category that is inactive, or whose parent is.
EXISTS (
    SELECT
    FROM menu_links link
    JOIN catalogue_entities category
        ON category.business_id = link.business_id AND category.kind = 0 AND category.id = link.to_id
    LEFT JOIN catalogue_entities parent
        ON category.parent_id <> 0
        AND parent.business_id = category.business_id
        AND parent.kind = 0
        AND parent.id = category.parent_id
    WHERE link.business_id = item.business_id
        AND link.relation = 0
        AND link.from_id = item.id
        AND NOT (category.active AND coalesce(parent.active, true))
)

-- name: item_listed
-- Whether the row item is listed on a platform by its own list (menu.Item.ListedOn).
(
    json_typeof(item.record -> 'included_platforms') IS DISTINCT FROM 'array'
    OR (item.record -> 'included_platforms')::jsonb @> to_jsonb(?platform::text)
)

-- name: catalogue_reason
-- The first menu.Reason of the catalogue why the row item cannot be ordered on the row platform, or ''.
CASE
    WHEN NOT ?listed THEN 'not_listed'
    WHEN EXISTS (
        SELECT
        FROM platform_findings finding
        WHERE finding.business_id = item.business_id
            AND finding.item_id = item.id
            AND finding.platform = platform.name
            AND NOT finding.warning
    ) THEN 'breaks_rule'
    WHEN NOT item.active THEN 'inactive'
    WHEN ?category_inactive THEN 'category_inactive'
    ELSE ''
END

-- name: store_reason
-- The first menu.Reason of the row override, which is null if the store does not sell the item, or ''.
CASE
    WHEN override.id IS NULL THEN 'not_sold'
    WHEN NOT coalesce((override.content ->> 'available')::boolean, false) THEN 'unavailable'
    WHEN (override.content ->> 'current_stock')::bigint = 0 THEN 'out_of_stock'
    WHEN ?may_lack_options AND ?missing_group IS NOT NULL THEN 'options_missing'
    ELSE ''
END

-- name: missing_group
-- The first group of the item of the row override that requires more options than can be ordered at the store
-- (menu.OptionGroup.MissingOptions). Only groups that require an option are read.
(
    WITH RECURSIVE
    -- The groups of the item, and those nested under their options.
    reached (id) AS (
        SELECT link.from_id
        FROM menu_links link
        WHERE link.business_id = override.business_id AND link.relation = 1 AND link.to_id = override.id
        UNION
        SELECT nested.to_id
        FROM reached
        JOIN menu_links inside
            ON inside.business_id = override.business_id AND inside.relation = 2 AND inside.to_id = reached.id
        JOIN menu_links nested
            ON nested.business_id = override.business_id AND nested.relation = 3 AND nested.from_id = inside.from_id
    ),
    -- The active groups that require options, with the options that the store sells. An option that can be chosen
    -- several times meets every minimum.
    choices AS MATERIALIZED (
        SELECT
            option_group.id AS group_id,
            option_group.name,
            CASE
                WHEN (option_group.record ->> 'multi_options_enabled')::boolean
                    THEN least((option_group.record ->> 'min_selectable')::bigint, 1)
                ELSE (option_group.record ->> 'min_selectable')::bigint
            END AS least_options,
            inside.from_id AS option_id,
            entity.active AND (option.content ->> 'available')::boolean AS orderable
        FROM reached
        JOIN catalogue_entities option_group
            ON option_group.business_id = override.business_id
            AND option_group.kind = 2
            AND option_group.id = reached.id
            AND option_group.active
            AND (option_group.record ->> 'min_selectable')::bigint > 0
        JOIN menu_links inside
            ON inside.business_id = override.business_id AND inside.relation = 2 AND inside.to_id = option_group.id
        JOIN catalogue_entities entity
            ON entity.business_id = override.business_id AND entity.kind = 3 AND entity.id = inside.from_id
        JOIN store_overrides option
            ON option.business_id = override.business_id
            AND option.store_id = override.store_id
            AND option.kind = 3
            AND option.id = inside.from_id
    ),
    -- The options that cannot be ordered, because a group nested under them lacks options. Each round finds those
    -- that follow from the round before.
    rounds (n, barred) AS (
        SELECT 0, ARRAY[]::bigint[]
        UNION ALL
        SELECT rounds.n + 1, next.barred
        FROM rounds
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(DISTINCT nested.from_id ORDER BY nested.from_id), '{}') AS barred
            FROM (
                SELECT group_id
                FROM choices
                GROUP BY group_id, least_options
                HAVING count(*) FILTER (WHERE orderable AND option_id <> ALL (rounds.barred)) < least_options
            ) lacking
            JOIN menu_links nested
                ON nested.business_id = override.business_id
                AND nested.relation = 3
                AND nested.to_id = lacking.group_id
        ) next
        WHERE next.barred <> rounds.barred
    )
    SELECT choices.name
    FROM choices
    CROSS JOIN (SELECT barred FROM rounds ORDER BY n DESC LIMIT 1) final
    JOIN menu_links link
        ON link.business_id = override.business_id
        AND link.relation = 1
        AND link.from_id = choices.group_id
        AND link.to_id = override.id
    GROUP BY choices.group_id, choices.name, choices.least_options
    HAVING count(*) FILTER (WHERE choices.orderable AND choices.option_id <> ALL (final.barred)) < choices.least_options
    ORDER BY choices.name
    LIMIT 1
)

-- name: may_lack_options
-- Whether a group of the item of the row override may lack options at the store. This quick check precedes
-- missing_group. It counts only options without nested groups.
EXISTS (
    SELECT
    FROM menu_links link
    JOIN catalogue_entities option_group
        ON option_group.business_id = link.business_id AND option_group.kind = 2 AND option_group.id = link.from_id
    CROSS JOIN LATERAL (SELECT (option_group.record ->> 'min_selectable')::bigint AS least_options OFFSET 0) required
    WHERE link.business_id = override.business_id
        AND link.relation = 1
        AND link.to_id = override.id
        AND option_group.active
        AND required.least_options > 0
        AND required.least_options > (
            SELECT count(*)
            FROM (
                SELECT
                FROM menu_links inside
                JOIN catalogue_entities entity
                    ON entity.business_id = inside.business_id
                    AND entity.kind = 3
                    AND entity.id = inside.from_id
                    AND entity.active
                JOIN store_overrides option
                    ON option.business_id = inside.business_id
                    AND option.store_id = override.store_id
                    AND option.kind = 3
                    AND option.id = inside.from_id
                    AND (option.content ->> 'available')::boolean
                WHERE inside.business_id = override.business_id
                    AND inside.relation = 2
                    AND inside.to_id = link.from_id
                    AND NOT EXISTS (
                        SELECT
                        FROM menu_links nested
                        WHERE nested.business_id = override.business_id
                            AND nested.relation = 3
                            AND nested.from_id = inside.from_id
                    )
                LIMIT required.least_options
            ) orderable
        )
)

-- name: required_groups
-- A common table expression of the active groups of the items ?of that require options. Their options are the active
-- ones without nested groups.
required AS MATERIALIZED (
    SELECT
        link.to_id AS item_id,
        (option_group.record ->> 'min_selectable')::bigint AS least_options,
        ARRAY(
            SELECT inside.from_id
            FROM menu_links inside
            JOIN catalogue_entities entity
                ON entity.business_id = inside.business_id
                AND entity.kind = 3
                AND entity.id = inside.from_id
                AND entity.active
            WHERE inside.business_id = ?business
                AND inside.relation = 2
                AND inside.to_id = link.from_id
                AND NOT EXISTS (
                    SELECT
                    FROM menu_links nested
                    WHERE nested.business_id = ?business AND nested.relation = 3 AND nested.from_id = inside.from_id
                )
        ) AS options
    FROM menu_links link
    JOIN catalogue_entities option_group
        ON option_group.business_id = link.business_id AND option_group.kind = 2 AND option_group.id = link.from_id
    WHERE link.business_id = ?business
        AND link.relation = 1
        AND link.to_id IN (?of)
        AND option_group.active
        AND (option_group.record ->> 'min_selectable')::bigint > 0
),

-- name: may_lack_required
-- As may_lack_options, of an item in required_groups.
EXISTS (
    SELECT
    FROM required
    WHERE required.item_id = override.id
        AND required.least_options > (
            SELECT count(*)
            FROM (
                SELECT
                FROM store_overrides option
                WHERE option.business_id = override.business_id
                    AND option.store_id = override.store_id
                    AND option.kind = 3
                    AND option.id = ANY (required.options)
                    AND (option.content ->> 'available')::boolean
                LIMIT required.least_options
            ) orderable
        )
)

-- name: sells_on
-- Whether an item of the row store can be ordered on the row platform (menu.Orderability). The quick conditions of the
-- store come first.
EXISTS (
    SELECT
    FROM (
        SELECT *
        FROM store_overrides sold
        WHERE sold.business_id = store.business_id
            AND sold.store_id = store.id
            AND sold.kind = 1
            AND (sold.content ->> 'available')::boolean
            AND coalesce((sold.content ->> 'current_stock')::bigint, -1) <> 0
        OFFSET 0
    ) override
    JOIN catalogue_entities item
        ON item.business_id = override.business_id AND item.kind = override.kind AND item.id = override.id
    WHERE ?catalogue_reason = '' AND ?store_reason = ''
)
