-- name: list_plugins
-- The plugins that are not removed, with the requests that are set aside.
SELECT
    id,
    enabled,
    revision,
    restarts,
    description,
    status,
    coalesce(reported_at, 'epoch'),
    coalesce(worker_seen_at, 'epoch'),
    registered_at,
    published_digest,
    (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'plugin', aside.plugin_id,
            'build', aside.build,
            'call', aside.call,
            'business', aside.business_id,
            'platform', aside.platform,
            'request', aside.request
        )), '[]')
        FROM plugin_set_aside aside
        WHERE aside.plugin_id = plugins.id
    )
FROM plugins
WHERE NOT removed
ORDER BY id

-- name: read_status
-- Locks a plugin. It also reports whether another hub has another renderer, and whether the description is a new one.
SELECT
    status,
    published_digest,
    revision,
    published_revision,
    EXISTS (
        SELECT FROM plugin_hubs other
        WHERE other.plugin_id = plugins.id
            AND other.hub <> ?hub
            AND other.reported_at >= ?reported_since
            AND other.state IN ('ready', 'degraded')
            AND other.description_digest <> ?renderer
    ),
    ?description::bytea IS NOT NULL AND ?description IS DISTINCT FROM description
FROM plugins
WHERE id = ?plugin AND NOT removed
FOR UPDATE

-- name: record_hubs
-- Records the plugin status of a hub, and deletes that of stopped hubs. The rows are sorted, so that hubs do not
-- deadlock.
WITH
reported AS (
    SELECT *
    FROM unnest(
        ?plugins::text[],
        ?hubs::uuid[],
        ?versions::text[],
        ?states::text[],
        ?since::timestamptz[],
        ?reasons::text[],
        ?builds::text[],
        ?in_flight::integer[],
        ?memory::bigint[],
        ?calls::text[],
        ?description_digests::text[]
    ) AS hub (
        plugin_id, hub, version, state, since, reason, build, in_flight, memory, calls, description_digest
    )
),
stopped AS (
    SELECT plugin_id, hub
    FROM plugin_hubs
    WHERE reported_at < ?stopped AND hub <> ALL (?hubs::uuid[])
    FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM plugin_hubs
    USING stopped
    WHERE plugin_hubs.plugin_id = stopped.plugin_id AND plugin_hubs.hub = stopped.hub
)
INSERT INTO plugin_hubs (
    plugin_id, hub, reported_at, version, state, since, reason, build, in_flight, memory, calls, description_digest
)
SELECT
    plugin_id, hub, ?now, version, state, since, reason, build, in_flight, memory, calls, description_digest
FROM reported
ORDER BY plugin_id, hub
ON CONFLICT (plugin_id, hub) DO UPDATE
SET
    reported_at = excluded.reported_at,
    version = excluded.version,
    state = excluded.state,
    since = excluded.since,
    reason = excluded.reason,
    build = excluded.build,
    in_flight = excluded.in_flight,
    memory = excluded.memory,
    calls = excluded.calls,
    description_digest = excluded.description_digest
