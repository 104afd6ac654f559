-- name: place_reason
-- The first console.PlaceReason of the row store on the row platform, or ''. The row switch is null unless the store is
-- closed there. The row report is null unless the platform reports it as closed. The row publication is null if the
-- platform receives no menu.
CASE
    WHEN NOT ?listed_on THEN 'store_unlisted'
    WHEN NOT store.active THEN 'store_inactive'
    WHEN NOT store.ordering_enabled THEN 'no_orders'
    WHEN switch.store_id IS NOT NULL THEN 'closed'
    WHEN report.store_id IS NOT NULL THEN 'closed_there'
    WHEN ?unsold THEN 'no_items'
    WHEN platform.down THEN 'plugin_down'
    WHEN publication.state = 'failed' AND publication.published_at IS NULL THEN 'menu_failed'
    WHEN store.hide_from_ui THEN 'hidden'
    WHEN NOT store.open THEN 'shut'
    WHEN publication.state IS NULL THEN ''
    WHEN publication.state = 'failed' THEN 'old_menu'
    WHEN publication.state = 'skipped' OR publication.state = 'unlisted' AND publication.available_at = 'infinity'
        THEN 'no_menu'
    WHEN publication.state <> 'published' THEN 'first_menu'
    WHEN publication.available_at < 'infinity' AND publication.note <> '' THEN 'menu_waits'
    WHEN publication.problems <> '[]' OR publication.left_out <> '[]' THEN 'incomplete'
    WHEN publication.available_at < 'infinity' THEN 'updating'
    ELSE ''
END

-- name: closed_there
-- The condition on a row report that the row platform reports the row store as closed (store.PlatformStatus.Closed).
report.store_id = store.id
AND report.platform = platform.name
AND report.state <> 'open'
AND (report.until_at IS NULL OR report.until_at > ?now)

-- name: place_tables
-- Common table expressions of all stores on all platforms.
-- The platforms, and whether their plugin does not work.
platform AS MATERIALIZED (
    SELECT name, served_by, served_by <> 'own' AND served_by <> ALL (?working::text[]) AS down
    FROM platforms
    WHERE business_id = ?business
),
-- The distinct opening hours by their hash: whether a store with them is open, and the minutes until it opens.
hours AS MATERIALIZED (
    SELECT
        known.hours_hash,
        state.open,
        CASE WHEN NOT state.open THEN opens_in(known.timings, special.slots, ?local::timestamp) END AS opens_in
    FROM (
        SELECT hours_hash, min(id) AS id
        FROM stores store
        WHERE business_id = ?business AND hours_hash <> 0
        GROUP BY hours_hash
    ) example
    JOIN stores known ON known.business_id = ?business AND known.id = example.id
    CROSS JOIN LATERAL (
        SELECT special_slots(known.special_timings, ?local::date - 1) AS slots OFFSET 0
    ) special
    CROSS JOIN LATERAL (
        SELECT open_at(known.timings, special.slots, ?local::timestamp) AS open OFFSET 0
    ) state
),
-- The stores that the filter selects.
store AS MATERIALIZED (
    SELECT
        store.business_id,
        store.id,
        store.ref_id,
        store.active,
        store.ordering_enabled,
        store.hide_from_ui,
        store.excluded_platforms,
        store.included_platforms,
        coalesce(hours.open, true) AS open,
        hours.opens_in
    FROM stores store
    LEFT JOIN hours ON hours.hours_hash = store.hours_hash
    WHERE store.business_id = ?business ?only
),

-- name: grid_stores
-- A page of stores by sort key and ref_id, with the reason on each platform, and the counts of all of them.
WITH
?place_tables
-- The stores that sell no item that can be ordered.
unsold AS MATERIALIZED (
    SELECT *
    FROM unnest(?unsold_stores::bigint[], ?unsold_platforms::text[]) unsold (store_id, platform)
),
-- Each store on each platform.
place AS MATERIALIZED (
    SELECT
        store.id,
        store.ref_id,
        platform.name AS platform,
        ?platform = '' OR platform.name = ?platform AS selected,
        ?place_reason AS reason,
        CASE
            WHEN switch.store_id IS NOT NULL THEN extract(epoch FROM switch.turn_on_at - ?now)::bigint / 60
            WHEN report.store_id IS NOT NULL THEN extract(epoch FROM report.until_at - ?now)::bigint / 60
            WHEN NOT store.open THEN store.opens_in
        END AS opens_in
    FROM store
    CROSS JOIN platform
    LEFT JOIN store_switches switch
        ON switch.business_id = ?business
        AND switch.store_id = store.id
        AND switch.platform = platform.name
        AND NOT switch.open
    LEFT JOIN store_reports report ON report.business_id = ?business AND ?closed_there
    LEFT JOIN publications publication
        ON platform.served_by <> 'own'
        AND publication.business_id = ?business
        AND publication.store_id = store.id
        AND publication.platform = platform.name
),
-- The stores of the grid, with their sort key.
ranked AS MATERIALIZED (
    SELECT
        id,
        ref_id,
        min(opens_in) FILTER (WHERE selected) AS opens_in,
        coalesce(bool_or(reason = ANY (?reasons::text[])) FILTER (WHERE selected), false) AS matches,
        CASE ?sort
            WHEN 'ref' THEN 0
            WHEN 'opens' THEN coalesce(?minute + min(opens_in) FILTER (WHERE selected), 1::bigint << 40)
            ELSE CASE
                WHEN bool_or(reason = ANY (?problems::text[])) FILTER (WHERE selected)
                    OR bool_and(reason = 'store_unlisted') FILTER (WHERE selected) THEN 0
                WHEN bool_or(reason = ANY (?warnings::text[])) FILTER (WHERE selected) THEN 1
                ELSE 2
            END
        END AS key
    FROM place
    GROUP BY id, ref_id
),
page AS (
    SELECT *
    FROM ranked
    WHERE (?reason = '' OR matches) AND (key, ref_id) > (?after_key, ?after_ref)
    ORDER BY key, ref_id
    LIMIT ?limit
),
-- The number of stores with each reason on a selected platform. The empty reason counts all stores.
counts AS (
    SELECT reason, count(DISTINCT id) AS stores
    FROM place
    WHERE selected AND reason <> ''
    GROUP BY reason
    UNION ALL
    SELECT '', count(*)
    FROM ranked
)
SELECT ?columns, found.reasons, found.opens_in, found.key, found.counts
FROM (
    SELECT
        page.*,
        shown.reasons,
        (SELECT jsonb_object_agg(reason, stores) FROM counts) AS counts
    FROM (SELECT) one
    LEFT JOIN page ON true
    LEFT JOIN (
        SELECT place.id, jsonb_object_agg(place.platform, place.reason) AS reasons
        FROM place
        JOIN page ON page.id = place.id
        GROUP BY place.id
    ) shown ON shown.id = page.id
) found
LEFT JOIN (SELECT *, ?closed_on AS closed_on, ?platform_status AS platform_status FROM stores) store
    ON store.business_id = ?business AND store.id = found.id
ORDER BY found.key, found.ref_id

-- name: item_places
-- A page of the stores of an item on each platform, by ref_id and platform. Each has the reason why the item cannot be
-- ordered, and the counts of all of them.
WITH
?place_tables
-- The item on each platform.
offered AS MATERIALIZED (
    SELECT platform.*, ?catalogue_reason AS catalogue_reason
    FROM platform
    CROSS JOIN catalogue_entities item
    WHERE item.business_id = ?business AND item.kind = 1 AND item.id = ?item
),
known AS MATERIALIZED (
    SELECT *
    FROM unnest(?reason_stores::bigint[], ?reasons::text[]) known (store_id, reason)
),
-- The item at each store.
sold AS MATERIALIZED (
    SELECT store.*, coalesce(known.reason, '') AS store_reason
    FROM store
    LEFT JOIN known ON known.store_id = store.id
    WHERE ?unsold OR store.id NOT IN (SELECT store_id FROM known WHERE reason = 'not_sold')
),
place AS MATERIALIZED (
    SELECT
        store.id,
        store.ref_id,
        platform.name AS platform,
        CASE
            WHEN store.store_reason = 'not_sold' THEN 'not_sold'
            WHEN platform.catalogue_reason <> '' THEN platform.catalogue_reason
            WHEN store.store_reason <> '' THEN store.store_reason
            ELSE (
                -- The platform may have rejected the item although it accepted the menu.
                SELECT
                    CASE
                        WHEN at.reason IN ('', 'menu_waits', 'incomplete', 'updating')
                            AND publication.state = 'published'
                            AND concat(publication.problems, publication.left_out) LIKE ?pattern
                            AND (publication.problems::jsonb || publication.left_out::jsonb) @> ?problem::jsonb
                            THEN 'item_refused'
                        WHEN at.reason = 'incomplete' THEN ''
                        ELSE at.reason
                    END
                FROM (SELECT ?place_reason AS reason) at
            )
        END AS reason
    FROM sold store
    CROSS JOIN offered platform
    LEFT JOIN store_switches switch
        ON switch.business_id = ?business
        AND switch.store_id = store.id
        AND switch.platform = platform.name
        AND NOT switch.open
    LEFT JOIN store_reports report ON report.business_id = ?business AND ?closed_there
    LEFT JOIN publications publication
        ON platform.served_by <> 'own'
        AND publication.business_id = ?business
        AND publication.store_id = store.id
        AND publication.platform = platform.name
),
page AS (
    SELECT *
    FROM place
    WHERE (ref_id, platform) > (?after_ref, ?after_platform) ?matching
    ORDER BY ref_id, platform
    LIMIT ?limit
),
counts AS (
    SELECT platform, reason, count(*) AS stores
    FROM place
    GROUP BY platform, reason
)
SELECT
    ?columns,
    coalesce(found.platform, '') AS platform,
    coalesce(found.reason, '') AS reason,
    coalesce(override.content::text, '') AS content,
    found.counts
FROM (
    SELECT
        page.*,
        (
            SELECT json_agg(json_build_object('Platform', platform, 'Reason', reason, 'Stores', stores))
            FROM counts
        ) AS counts
    FROM (SELECT) one
    LEFT JOIN page ON true
) found
LEFT JOIN (SELECT *, ?closed_on AS closed_on, ?platform_status AS platform_status FROM stores) store
    ON store.business_id = ?business AND store.id = found.id
LEFT JOIN store_overrides override
    ON override.business_id = ?business
    AND override.store_id = found.id
    AND override.kind = 1
    AND override.id = ?item
ORDER BY found.ref_id, found.platform
