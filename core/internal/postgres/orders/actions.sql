-- name: pending_action
-- The same action of an order that has not ended.
SELECT id
FROM calls
WHERE business_id = ?business
    AND order_id = ?order
    AND kind = ?kind
    AND platform = ?platform
    AND payload = ?payload
    AND state IN ('waiting', 'pending')
ORDER BY sequence
LIMIT 1

-- name: read_action
SELECT
    calls.order_id,
    calls.platform,
    orders.platform_order_id,
    calls.payload,
    calls.state,
    CASE WHEN calls.state = 'waiting' THEN coalesce(queued.note, '') ELSE calls.message END,
    calls.result,
    calls.created_at,
    calls.finished_at
FROM calls
JOIN orders ON orders.business_id = calls.business_id AND orders.id = calls.order_id
LEFT JOIN call_queue queued ON queued.business_id = calls.business_id AND queued.ordering_key = calls.ordering_key
WHERE calls.business_id = ?business AND calls.id = ?reference AND calls.kind = ?kind

-- name: reported_action
-- The action that a callback reports: by its id, else by the order and the name of the action. That is the first one
-- without an outcome, or else the latest: a repeated callback.
SELECT calls.id
FROM calls
JOIN orders ON orders.business_id = calls.business_id AND orders.id = calls.order_id
WHERE calls.business_id = ?business
    AND calls.kind = ?kind
    AND calls.platform = ?platform
    AND CASE
        WHEN ?call::uuid <> ?none::uuid THEN calls.id = ?call::uuid
        ELSE orders.platform = ?platform
            AND orders.platform_order_id = ?platform_order
            AND calls.payload::jsonb ->> 'action' = ?action
    END
ORDER BY
    CASE WHEN calls.state IN ('waiting', 'pending') THEN calls.sequence END NULLS LAST,
    calls.sequence DESC
LIMIT 1
FOR UPDATE OF orders

-- name: settle_action
UPDATE calls
SET state = ?state, message = ?message, result = ?result, finished_at = ?now
WHERE calls.business_id = ?business AND calls.id = ?id AND calls.state IN ('waiting', 'pending')
RETURNING ?ended

-- name: expire_actions
-- Fails the actions that are pending for too long. Locks them and their orders.
UPDATE calls
SET state = ?state, message = ?message, finished_at = ?now
FROM (
    SELECT calls.business_id, calls.id
    FROM calls
    JOIN orders ON orders.business_id = calls.business_id AND orders.id = calls.order_id
    WHERE calls.state = 'pending' AND calls.kind = ?kind AND calls.finished_at <= ?since
    ORDER BY calls.finished_at
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
) expired
WHERE calls.business_id = expired.business_id AND calls.id = expired.id
RETURNING ?ended
