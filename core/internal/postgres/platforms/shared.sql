-- name: shared_platforms
-- The platforms of a plugin with a store that has an id of the aggregator, at most two.
SELECT DISTINCT store.business_id, platform.name
FROM stores store
JOIN platforms platform ON platform.business_id = store.business_id AND platform.served_by = ?plugin
WHERE store.platform_data @> jsonb_build_array(jsonb_build_object('platform_store_id', ?id::text))
    AND nullif(?given_id, '') = ?id
LIMIT 2

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
