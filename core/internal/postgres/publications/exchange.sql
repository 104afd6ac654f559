-- name: keep_exchange
-- Stores the menu that was last sent.
INSERT INTO sent_menus (
    business_id, store_id, platform, call_id, version, sent_at, body, size, status, response, state, message
)
VALUES (
    ?business,
    ?store,
    ?platform,
    ?call,
    ?version,
    ?at,
    ?body::bytea,
    ?size,
    ?status,
    ?response::bytea,
    ?state,
    ?message
)
ON CONFLICT (business_id, store_id, platform) DO UPDATE
SET
    call_id = excluded.call_id,
    version = excluded.version,
    sent_at = excluded.sent_at,
    body = excluded.body,
    size = excluded.size,
    status = excluded.status,
    response = excluded.response,
    state = excluded.state,
    message = excluded.message

-- name: end_exchange
-- Stores the outcome of a sent menu that the aggregator has reported later.
UPDATE sent_menus
SET state = ?state, message = ?message
WHERE business_id = ?business AND store_id = ?store AND platform = ?platform AND call_id = ?call

-- name: last_sent
SELECT call_id, version, sent_at, body, size, status, response, state, message
FROM sent_menus
WHERE business_id = ?business AND store_id = ?store AND platform = ?platform
