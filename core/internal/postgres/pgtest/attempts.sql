-- The attempts at the deliveries of an event, of the history and the queue.
SELECT
    delivery.id AS delivery_id,
    delivery.webhook_id,
    delivery.state,
    attempt.n,
    attempt.started_at,
    attempt.url,
    attempt.status,
    attempt.error_class,
    attempt.error
FROM (
    SELECT business_id, id, coalesce(webhook_id, 0) AS webhook_id, state
    FROM deliveries
    WHERE event_id = ?event
    UNION ALL
    SELECT business_id, id, coalesce(webhook_id, 0), 'pending'
    FROM delivery_queue
    WHERE event_id = ?event
) delivery
JOIN attempts attempt ON attempt.business_id = delivery.business_id AND attempt.delivery_id = delivery.id
ORDER BY delivery.id, attempt.n, attempt.started_at
