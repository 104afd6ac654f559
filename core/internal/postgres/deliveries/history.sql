-- name: is_held
-- The condition that the row "delivery" of the queue is held. A delivery to a disabled webhook is held at
-- once, though its row changes only when it comes due.
(
    delivery.available_at = 'infinity'
    OR (
        delivery.owner IS NULL
        AND NOT delivery.manual
        AND EXISTS (
            SELECT 1
            FROM endpoint_circuits circuit
            WHERE circuit.endpoint = delivery.endpoint
                AND circuit.business_id = delivery.business_id
                AND circuit.probing_since IS NOT NULL
        )
    )
    OR delivery.owner IS NULL AND ?is_switched_off
)

-- name: is_switched_off
-- The condition that the webhook of the row "delivery" is disabled.
EXISTS (
    SELECT 1
    FROM webhooks
    WHERE webhooks.business_id = delivery.business_id AND webhooks.id = delivery.webhook_id AND NOT webhooks.active
)

-- name: is_of_final_order
-- The condition that the row "delivery" has an order_placed event of an order in a final state. Single lookups by key:
-- both tables are large and may have no statistics yet.
(
    delivery.event_type = ?event_type
    AND coalesce(
        (
            SELECT orders.state IN (?cancelled, ?completed)
            FROM orders
            WHERE orders.business_id = delivery.business_id
                AND orders.id = (
                    SELECT event.order_id
                    FROM events event
                    WHERE event.id = delivery.event_id AND event.business_id = delivery.business_id
                    LIMIT 1
                )
            LIMIT 1
        ),
        false
    )
)

-- name: records
-- Deliveries of a business with their event, webhook, circuit and last attempt, in an order.
SELECT
    delivery.id,
    delivery.event_id,
    delivery.event_type,
    coalesce(event.reference, '') AS reference,
    coalesce(event.trace, '') AS trace,
    coalesce(event.order_id, 0) AS order_id,
    coalesce(event.test, false) AS test,
    coalesce(delivery.webhook_id, 0) AS webhook_id,
    coalesce(nullif(delivery.url, ''), webhook.url, '') AS url,
    delivery.state,
    delivery.attempts,
    delivery.prior_attempts,
    delivery.due_at,
    delivery.finished_at,
    coalesce(attempt.status, 0) AS last_status,
    coalesce(attempt.error, '') AS last_error,
    coalesce(attempt.error_class, '') AS last_class,
    coalesce(webhook.active, true) AS switched_on,
    CASE WHEN webhook.active THEN '' ELSE coalesce(webhook.disabled_reason, '') END AS disabled,
    delivery.blocked,
    coalesce(circuit.since, 'epoch') AS health_since,
    coalesce(circuit.status, 0) AS health_status,
    coalesce(circuit.pause_ms, 0) AS health_pause_ms,
    delivery.problem_id
FROM (
    (
        SELECT
            delivery.business_id,
            delivery.id,
            delivery.event_id,
            delivery.event_type,
            delivery.webhook_id,
            delivery.url,
            delivery.attempts,
            NULL::timestamptz AS finished_at,
            CASE WHEN ?is_held THEN 'held' ELSE 'pending' END AS state,
            CASE WHEN NOT ?is_held THEN delivery.due_at END AS due_at,
            delivery.blocked,
            delivery.endpoint,
            delivery.prior_attempts,
            0::bigint AS problem_id
        FROM delivery_queue delivery
        WHERE delivery.business_id = ?business ?queued
        ORDER BY ?queue_order
        LIMIT ?limit
    )
    UNION ALL
    (
        SELECT
            delivery.business_id,
            delivery.id,
            delivery.event_id,
            delivery.event_type,
            delivery.webhook_id,
            delivery.url,
            delivery.attempts,
            delivery.finished_at,
            delivery.state,
            NULL,
            false,
            0,
            0,
            coalesce(delivery.problem_id, 0)
        FROM deliveries delivery
        WHERE delivery.business_id = ?business ?ended
        ORDER BY ?order
        LIMIT ?limit
    )
) delivery
LEFT JOIN LATERAL (
    SELECT reference, trace, order_id, test
    FROM events
    WHERE id = delivery.event_id AND business_id = delivery.business_id
    LIMIT 1
) event ON true
LEFT JOIN webhooks webhook ON webhook.business_id = delivery.business_id AND webhook.id = delivery.webhook_id
LEFT JOIN endpoint_circuits circuit
    ON circuit.endpoint = delivery.endpoint AND circuit.business_id = delivery.business_id
LEFT JOIN LATERAL (
    SELECT status, error, error_class
    FROM attempts
    WHERE business_id = delivery.business_id AND delivery_id = delivery.id
    ORDER BY n DESC, started_at DESC
    LIMIT 1
) attempt ON true
ORDER BY ?order
LIMIT ?limit

-- name: events_of_order
-- The events of an order, and those with the results of calls to its aggregator.
SELECT id
FROM events
WHERE business_id = ?business AND order_id = ?order
UNION
SELECT event.id
FROM calls
JOIN events event
    ON event.business_id = calls.business_id AND event.reference = calls.id::text AND event.reference <> ''
WHERE calls.business_id = ?business AND calls.order_id = ?order
ORDER BY id

-- name: requeue
-- Queues an ended delivery again. The attempts so far do not count for its new schedule.
INSERT INTO delivery_queue (
    business_id, id, event_id, event_type, webhook_id, url, endpoint, size, ordering_key, sequence, attempts,
    prior_attempts, due_at, available_at, manual
)
SELECT
    business_id,
    ?id,
    id,
    event_type,
    nullif(?webhook, 0),
    ?url,
    ?endpoint,
    ?size,
    coalesce(order_id, 0),
    coalesce(sequence, 0),
    ?attempts,
    ?attempts,
    ?now,
    ?now,
    true
FROM events
WHERE id = ?event AND business_id = ?business

-- name: count_up_to
-- How many of the oldest deliveries that an index finds meet further conditions, and whether there are more.
SELECT count(*) FILTER (WHERE true ?only), count(*) = ?limit
FROM (
    SELECT *
    FROM deliveries delivery
    WHERE true ?read
    ORDER BY delivery.id
    LIMIT ?limit
) delivery
