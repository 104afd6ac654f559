-- name: shared_platforms
-- The platforms of a plugin with a store that has an id of the aggregator, at most two. Every business has a platform
-- for each plugin, so one counts only once it was set up. Inactive stores count if no active one has the id.
WITH found AS (
    SELECT store.business_id, platform.name, store.active
    FROM stores store
    JOIN platforms platform
        ON platform.business_id = store.business_id
        AND platform.served_by = ?plugin
        AND platform.secrets IS NOT NULL
    WHERE store.platform_data @> jsonb_build_array(jsonb_build_object('platform_store_id', ?id::text))
        AND nullif(?given_id, '') = ?id
)
SELECT DISTINCT business_id, name
FROM found
WHERE active OR NOT EXISTS (SELECT FROM found other WHERE other.active)
LIMIT 2

-- name: taken_elsewhere
-- The ids among those given that active stores of other businesses have at the plugin of a platform. Only plugins with
-- a shared URL count, and platforms that were set up.
WITH
-- The platforms of the business whose plugin has a shared URL.
own AS MATERIALIZED (
    SELECT platform.name, platform.served_by
    FROM platforms platform
    JOIN plugin_shared shared ON shared.plugin_id = platform.served_by AND shared.secrets IS NOT NULL
    WHERE platform.business_id = ?business
)
SELECT DISTINCT own.name, wanted.id
FROM own
CROSS JOIN unnest(?ids::text[]) AS wanted (id)
JOIN stores store
    ON store.platform_data @> jsonb_build_array(jsonb_build_object('platform_store_id', wanted.id))
    AND store.business_id <> ?business
    AND store.active
JOIN platforms platform
    ON platform.business_id = store.business_id
    AND platform.served_by = own.served_by
    AND platform.secrets IS NOT NULL
WHERE nullif(?given_id, '') = wanted.id

-- name: given_ids
-- The platform store ids that active stores of a business have on a platform.
SELECT DISTINCT ?given_id
FROM stores store
JOIN platforms platform ON platform.business_id = store.business_id AND platform.name = ?platform
WHERE store.business_id = ?business AND store.active AND ?given_id <> ''

-- name: lock_shared
-- Locks the shared URLs of the plugins of a business, and that of one more plugin, in the order of their ids.
SELECT pg_advisory_xact_lock(hashtextextended('servery shared ' || sorted.plugin_id, 0))
FROM (
    SELECT shared.plugin_id
    FROM plugin_shared shared
    WHERE shared.secrets IS NOT NULL
        AND (
            shared.plugin_id = ?plugin
            OR shared.plugin_id IN (
                SELECT served_by FROM platforms WHERE business_id = ?business AND secrets IS NOT NULL
            )
        )
    ORDER BY shared.plugin_id
) sorted

-- name: record_shared
-- Records why a request at the shared URL of a known plugin was rejected, unless another was just recorded. An unrouted
-- request is always counted.
INSERT INTO plugin_shared AS shared (plugin_id, rejected_at, rejection, unrouted)
SELECT id, ?now, left(?why, 500), ?count
FROM plugins
WHERE id = ?plugin
ON CONFLICT (plugin_id) DO UPDATE
SET rejected_at = excluded.rejected_at,
    rejection = excluded.rejection,
    unrouted = shared.unrouted + excluded.unrouted
WHERE ?count > 0 OR shared.rejected_at IS NULL OR shared.rejected_at <= ?before
