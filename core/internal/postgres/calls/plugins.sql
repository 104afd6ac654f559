-- name: record_hub
-- Records the plugin status of a hub.
INSERT INTO plugin_hubs (plugin_id, hub, told_at, version, state, in_flight, memory, calls, about)
VALUES (?plugin, ?hub, ?now, ?version, ?state, ?in_flight, ?memory, ?calls, ?about)
ON CONFLICT (plugin_id, hub) DO UPDATE
SET
    told_at = excluded.told_at,
    version = excluded.version,
    state = excluded.state,
    in_flight = excluded.in_flight,
    memory = excluded.memory,
    calls = excluded.calls,
    about = excluded.about
