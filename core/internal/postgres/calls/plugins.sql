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
        ?in_flight::integer[],
        ?memory::bigint[],
        ?calls::text[],
        ?description_digests::text[]
    ) AS hub (plugin_id, hub, version, state, in_flight, memory, calls, description_digest)
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
INSERT INTO plugin_hubs (plugin_id, hub, reported_at, version, state, in_flight, memory, calls, description_digest)
SELECT plugin_id, hub, ?now, version, state, in_flight, memory, calls, description_digest
FROM reported
ORDER BY plugin_id, hub
ON CONFLICT (plugin_id, hub) DO UPDATE
SET
    reported_at = excluded.reported_at,
    version = excluded.version,
    state = excluded.state,
    in_flight = excluded.in_flight,
    memory = excluded.memory,
    calls = excluded.calls,
    description_digest = excluded.description_digest
