-- name: closed_on
-- The platforms on which a row of stores is closed (store.PlatformClosure).
(
    SELECT json_agg(
        json_build_object(
            'platform', switch.platform,
            'action_src', switch.source,
            'actor', switch.actor,
            'reason', switch.reason,
            'since', floor(extract(epoch FROM switch.at) * 1000),
            'turn_on_at', coalesce(floor(extract(epoch FROM switch.turn_on_at) * 1000), 0)
        )
        ORDER BY switch.platform
    )
    FROM store_switches switch
    WHERE switch.business_id = stores.business_id AND switch.store_id = stores.id AND NOT switch.open
)

-- name: busy_on
-- The platforms on which a row of stores is busy (store.PlatformBusy).
(
    SELECT json_agg(
        json_build_object(
            'platform', workload.platform,
            'prep_minutes', workload.prep_minutes,
            'actor', workload.actor,
            'since', floor(extract(epoch FROM workload.at) * 1000),
            'until', coalesce(floor(extract(epoch FROM workload.until_at) * 1000), 0)
        )
        ORDER BY workload.platform
    )
    FROM store_workloads workload
    WHERE workload.business_id = stores.business_id AND workload.store_id = stores.id
)

-- name: platform_status
-- The reports of platforms about a row of stores (store.PlatformStatus).
(
    SELECT json_agg(
        json_build_object(
            'platform', report.platform,
            'state', report.state,
            'reason', report.reason,
            'since', floor(extract(epoch FROM report.since) * 1000),
            'until', coalesce(floor(extract(epoch FROM report.until_at) * 1000), 0)
        )
        ORDER BY report.platform
    )
    FROM store_reports report
    WHERE report.business_id = stores.business_id AND report.store_id = stores.id
)

-- name: columns
-- The columns of a store as it is read.
id,
ref_id,
city,
name,
min_pickup_time,
min_delivery_time,
contact_phone,
notification_phones,
notification_emails,
min_order_value::text AS min_order_value,
hide_from_ui,
address,
zip_codes,
geo_longitude,
geo_latitude,
active,
ordering_enabled,
translations,
excluded_platforms,
included_platforms,
platform_data,
timings,
special_timings,
?closed_on AS closed_on,
?busy_on AS busy_on,
?platform_status AS platform_status

-- name: page
-- A page of stores. It ends with the store that reaches its bytes, so it has one store at least. More says whether
-- further stores follow.
WITH RECURSIVE
-- The first stores, a few at a time, so that few are sized that follow the page. To size a store, its values are read
-- and decompressed.
sized AS (
    SELECT ?after::text AS last, 0 AS n, 0::bigint AS total, '{}'::text[] AS refs, '{}'::bigint[] AS sizes
    UNION ALL
    SELECT
        following.refs[cardinality(following.refs)],
        sized.n + cardinality(following.refs),
        sized.total + following.total,
        following.refs,
        following.sizes
    FROM sized
    CROSS JOIN LATERAL (
        SELECT array_agg(few.ref_id) AS refs, array_agg(few.size) AS sizes, sum(few.size)::bigint AS total
        FROM (
            SELECT
                ref_id,
                CASE
                    WHEN coalesce(
                        pg_column_compression(address),
                        pg_column_compression(notification_phones),
                        pg_column_compression(notification_emails),
                        pg_column_compression(zip_codes),
                        pg_column_compression(translations),
                        pg_column_compression(excluded_platforms),
                        pg_column_compression(included_platforms),
                        pg_column_compression(platform_data),
                        pg_column_compression(timings),
                        pg_column_compression(special_timings)
                    ) IS NULL THEN pg_column_size(stores)
                    ELSE octet_length(
                        ROW(
                            address,
                            notification_phones,
                            notification_emails,
                            zip_codes,
                            translations,
                            excluded_platforms,
                            included_platforms,
                            platform_data,
                            timings,
                            special_timings
                        )::text
                    )
                END::bigint AS size
            FROM stores
            WHERE business_id = ?business AND ref_id > sized.last
            ORDER BY ref_id
            LIMIT least(8, ?limit - sized.n)
        ) few
    ) following
    WHERE sized.n < ?limit AND sized.total < ?bytes AND following.refs IS NOT NULL
),
-- The last store of the page, which is found once.
page AS MATERIALIZED (
    SELECT summed.ref_id AS last, summed.total AS size
    FROM (
        SELECT one.ref_id, one.size, sum(one.size) OVER (ORDER BY one.ref_id)::bigint AS total
        FROM sized
        CROSS JOIN unnest(sized.refs, sized.sizes) AS one (ref_id, size)
    ) summed
    WHERE summed.total - summed.size < ?bytes
    ORDER BY summed.ref_id DESC
    LIMIT 1
)
SELECT
    ?columns,
    (SELECT size FROM page) AS size,
    (SELECT max(ref_id) FROM stores WHERE business_id = ?business) > (SELECT last FROM page) AS more
FROM stores
WHERE business_id = ?business AND ref_id > ?after AND ref_id <= (SELECT last FROM page)
ORDER BY ref_id

-- name: naming
-- Locks the stores that name a platform in their lists or data.
SELECT ref_id, id, active, excluded_platforms, included_platforms, coalesce(platform_data, '[]')
FROM stores
WHERE business_id = ?business
    AND (
        ?name::text = ANY (excluded_platforms)
        OR ?name::text = ANY (included_platforms)
        OR platform_data @> jsonb_build_array(jsonb_build_object('name', ?name::text))
    )
ORDER BY id
FOR UPDATE

-- name: rename
-- Replaces the platform lists and data of stores. A missing list stays null.
UPDATE stores
SET
    excluded_platforms = CASE
        WHEN renamed.excluded IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(renamed.excluded))
    END,
    included_platforms = CASE
        WHEN renamed.included IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(renamed.included))
    END,
    platform_data = CASE WHEN stores.platform_data IS NOT NULL THEN renamed.data END,
    updated_at = ?now
FROM jsonb_to_recordset(?rows::jsonb) AS renamed (id bigint, excluded jsonb, included jsonb, data jsonb)
WHERE stores.business_id = ?business AND stores.id = renamed.id
