-- name: record_hub
-- Records the plugin status of a hub.
INSERT INTO plugin_hubs (plugin_id, hub, reported_at, version, state, in_flight, memory, calls, description_digest)
VALUES (?plugin, ?hub, ?now, ?version, ?state, ?in_flight, ?memory, ?calls, ?description_digest)
ON CONFLICT (plugin_id, hub) DO UPDATE
SET
    reported_at = excluded.reported_at,
    version = excluded.version,
    state = excluded.state,
    in_flight = excluded.in_flight,
    memory = excluded.memory,
    calls = excluded.calls,
    description_digest = excluded.description_digest
