-- name: store_heartbeats
-- Stores heartbeats in key order, unless a stored one is little older. Each names its store, by id, ref_id or order.
INSERT INTO pos_presence AS stored (business_id, store_id, seen_at)
SELECT store.business_id, store.id, max(heartbeat.at)
FROM unnest(?businesses::bigint[], ?stores::bigint[], ?refs::text[], ?orders::bigint[], ?at::timestamptz[])
    AS heartbeat (business, store, ref, placed, at)
LEFT JOIN orders
    ON heartbeat.placed <> 0 AND orders.business_id = heartbeat.business AND orders.id = heartbeat.placed
JOIN stores store
    ON store.business_id = heartbeat.business
    AND store.id = CASE
        WHEN heartbeat.store <> 0 THEN heartbeat.store
        WHEN heartbeat.placed <> 0 THEN orders.store_id
        ELSE (
            SELECT named.id
            FROM stores named
            WHERE named.business_id = heartbeat.business AND named.ref_id = heartbeat.ref
        )
    END
GROUP BY store.business_id, store.id
ORDER BY store.business_id, store.id
ON CONFLICT (business_id, store_id) DO UPDATE
SET seen_at = excluded.seen_at
WHERE stored.seen_at < excluded.seen_at - ?step_seconds * interval '1 second'

-- name: read
-- The presence of stores, with the rule of their business.
SELECT
    presence.business_id,
    presence.store_id,
    store.ref_id,
    store.name,
    presence.seen_at,
    presence.silent_since,
    store.timings,
    store.special_timings,
    store.active AND store.ordering_enabled,
    business.timezone,
    silence.after_s,
    coalesce(rule.close_silent_stores, false)
FROM pos_presence presence
JOIN stores store ON store.business_id = presence.business_id AND store.id = presence.store_id
JOIN businesses business ON business.id = presence.business_id
LEFT JOIN presence_rules rule ON rule.business_id = presence.business_id
CROSS JOIN LATERAL (SELECT coalesce(rule.silent_after_s, ?after_seconds)) AS silence (after_s)
WHERE ?which

-- name: set_silent
-- Stores since when stores are silent, '' for those that are not, unless a heartbeat was stored since they were read.
-- Locks them in key order.
UPDATE pos_presence presence
SET silent_since = nullif(locked.since, '')::timestamptz
FROM (
    SELECT known.business_id, known.store_id, change.since
    FROM unnest(?businesses::bigint[], ?stores::bigint[], ?since::text[], ?seen::timestamptz[])
        AS change (business, store, since, seen)
    JOIN pos_presence known
        ON known.business_id = change.business
        AND known.store_id = change.store
        AND known.seen_at = change.seen
    ORDER BY known.business_id, known.store_id
    FOR UPDATE OF known
) locked
WHERE presence.business_id = locked.business_id AND presence.store_id = locked.store_id
RETURNING presence.store_id
