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
-- Common table expressions of all stores on all platforms. Stores of one kind have the same reasons everywhere, so that
-- these follow from an example of each kind. A business has few kinds of stores.
-- The platforms, and whether their plugin does not work.
platform AS MATERIALIZED (
    SELECT name, served_by, served_by <> 'own' AND served_by <> ALL (?working::text[]) AS down
    FROM platforms
    WHERE business_id = ?business
),
-- The facts of the menus of stores.
known AS MATERIALIZED (
    SELECT *
    FROM unnest(?known_stores::bigint[], ?known_values::text[]) known (store_id, value)
),
-- A hash of the facts that set a store apart from those with the same settings.
mark AS MATERIALIZED (
    SELECT store_id, bit_xor(hash) AS marks
    FROM (
        SELECT store_id, hash_record_extended(ROW (1, value), 0) AS hash
        FROM known
        UNION ALL
        SELECT store_id, hash_record_extended(ROW (2, platform, turn_on_at), 0)
        FROM store_switches
        WHERE business_id = ?business AND NOT open
        UNION ALL
        SELECT store_id, hash_record_extended(ROW (3, platform, state, until_at), 0)
        FROM store_reports
        WHERE business_id = ?business AND state <> 'open'
        UNION ALL
        SELECT
            store_id,
            hash_record_extended(
                ROW (
                    4, platform, state, published_at IS NULL, available_at < 'infinity', note <> '',
                    problems <> '[]' OR left_out <> '[]', ?refused
                ),
                0
            )
        FROM publications publication
        WHERE business_id = ?business
            AND NOT (state = 'published' AND available_at = 'infinity' AND problems = '[]' AND left_out = '[]')
    ) mark
    GROUP BY store_id
),
-- The stores that the filter selects, and their kind.
store AS MATERIALIZED (
    SELECT
        store.id,
        store.ref_id,
        store.hours_hash,
        hash_record_extended(
            ROW (
                store.active, store.ordering_enabled, store.hide_from_ui, store.excluded_platforms,
                store.included_platforms, store.hours_hash, mark.marks
            ),
            0
        ) AS kind
    FROM stores store
    LEFT JOIN mark ON mark.store_id = store.id
    WHERE store.business_id = ?business ?only
),
kind AS MATERIALIZED (
    SELECT kind, min(id) AS id, min(hours_hash) AS hours_hash, count(*) AS stores
    FROM store
    GROUP BY kind
),
-- The distinct opening hours by their hash: whether a store with them is open, and the minutes until it opens.
hours AS MATERIALIZED (
    SELECT
        example.hours_hash,
        state.open,
        CASE WHEN NOT state.open THEN opens_in(example.timings, special.slots, ?local::timestamp) END AS opens_in
    FROM (
        SELECT min(id) AS id
        FROM kind
        WHERE hours_hash <> 0
        GROUP BY hours_hash
    ) one
    JOIN stores example ON example.business_id = ?business AND example.id = one.id
    CROSS JOIN LATERAL (
        SELECT special_slots(example.special_timings, ?local::date - 1) AS slots OFFSET 0
    ) special
    CROSS JOIN LATERAL (
        SELECT open_at(example.timings, special.slots, ?local::timestamp) AS open OFFSET 0
    ) state
),
-- A store of each kind.
example AS MATERIALIZED (
    SELECT
        kind.kind,
        kind.stores,
        store.id,
        store.active,
        store.ordering_enabled,
        store.hide_from_ui,
        store.excluded_platforms,
        store.included_platforms,
        coalesce(hours.open, true) AS open,
        hours.opens_in
    FROM kind
    JOIN stores store ON store.business_id = ?business AND store.id = kind.id
    LEFT JOIN hours ON hours.hours_hash = kind.hours_hash
),

-- name: place_joins
-- The tables that ?place_reason reads, beside the row store and the row platform.
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

-- name: grid_stores
-- A page of stores by sort key and ref_id, with the reason on each platform, and the counts of all of them.
WITH
?place_tables
-- Each kind of store on each platform.
place AS MATERIALIZED (
    SELECT
        store.kind,
        store.stores,
        platform.name AS platform,
        ?platform = '' OR platform.name = ?platform AS selected,
        ?place_reason AS reason,
        publication.state = 'failed' AS menu_rejected,
        -- The minute of the next opening, numbered as localMinute does. It is the same whenever it is read.
        CASE
            WHEN switch.store_id IS NOT NULL OR report.store_id IS NOT NULL THEN (
                SELECT (extract(epoch FROM ends_at)::bigint
                    + CASE WHEN ends_at < ?offset_ends THEN ?offset ELSE ?next_offset END) / 60
                FROM (SELECT CASE WHEN switch.store_id IS NOT NULL THEN switch.turn_on_at ELSE report.until_at END
                    AS ends_at) timer)
            WHEN NOT store.open THEN ?minute + store.opens_in
        END AS opens_at
    FROM example store
    CROSS JOIN platform
    ?place_joins
),
-- The kinds, with the sort key of their stores.
ranked AS MATERIALIZED (
    SELECT
        kind,
        min(opens_at) FILTER (WHERE selected) AS opens_at,
        jsonb_object_agg(platform, reason) AS reasons,
        CASE ?sort
            WHEN 'ref' THEN 0
            WHEN 'opens' THEN coalesce(min(opens_at) FILTER (WHERE selected), 1::bigint << 40)
            ELSE CASE
                WHEN bool_or(reason = ANY (?problems::text[])) FILTER (WHERE selected)
                    OR bool_and(reason = 'store_unlisted') FILTER (WHERE selected) THEN 0
                WHEN bool_or(reason = ANY (?warnings::text[])) FILTER (WHERE selected) THEN 1
                ELSE 2
            END
        END AS key
    FROM place
    GROUP BY kind
    HAVING ?reason = ''
        OR bool_or(reason = ANY (?reasons::text[])) FILTER (WHERE selected)
        OR ?reason = ?rejected AND bool_or(menu_rejected) FILTER (WHERE selected)
),
page AS (
    SELECT store.id, store.ref_id, ranked.*
    FROM store
    JOIN ranked ON ranked.kind = store.kind
    WHERE (ranked.key, store.ref_id) > (?after_key, ?after_ref)
    ORDER BY ranked.key, store.ref_id
    LIMIT ?limit
),
-- The number of stores with each reason on a selected platform. The empty reason counts all stores.
counts AS (
    SELECT reason, sum(stores) AS stores
    FROM (
        SELECT DISTINCT reason, kind, stores
        FROM place
        WHERE selected AND reason <> ''
    ) of_kind
    GROUP BY reason
    UNION ALL
    SELECT '', count(*)
    FROM store
)
SELECT ?columns, found.reasons, found.opens_at, found.key, found.counts
FROM (
    SELECT page.*, (SELECT jsonb_object_agg(reason, stores) FROM counts) AS counts
    FROM (SELECT) one
    LEFT JOIN page ON true
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
-- The item at each kind of store.
sold AS MATERIALIZED (
    SELECT example.*, coalesce(known.value, '') AS store_reason
    FROM example
    LEFT JOIN known ON known.store_id = example.id
    WHERE ?unsold OR known.value IS DISTINCT FROM 'not_sold'
),
place AS MATERIALIZED (
    SELECT
        store.kind,
        store.stores,
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
                            AND ?refused THEN 'item_refused'
                        WHEN at.reason = 'incomplete' THEN ''
                        ELSE at.reason
                    END
                FROM (SELECT ?place_reason AS reason) at
            )
        END AS reason
    FROM sold store
    CROSS JOIN offered platform
    ?place_joins
),
page AS (
    SELECT store.id, store.ref_id, place.platform, place.reason
    FROM store
    JOIN place ON place.kind = store.kind
    WHERE (store.ref_id, place.platform) > (?after_ref, ?after_platform) ?matching
    ORDER BY store.ref_id, place.platform
    LIMIT ?limit
),
counts AS (
    SELECT platform, reason, sum(stores) AS stores
    FROM place
    GROUP BY platform, reason
)
SELECT
    ?columns,
    coalesce(found.platform, '') AS platform,
    coalesce(found.reason, '') AS reason,
    coalesce(override.content::text, '') AS content,
    CASE WHEN found.reason = 'options_missing' THEN ?missing_group END AS unmet_group,
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

-- name: item_refused
-- Whether the platform of the row publication rejected the item.
concat(publication.problems, publication.left_out) LIKE ?pattern
AND (publication.problems::jsonb || publication.left_out::jsonb) @> ?problem::jsonb
