-- name: take_ended
-- Takes ended deliveries out of the history, with the columns of their events for the queue. The range of ids and the
-- single lookups of events keep a new partition, which has no statistics, from being scanned.
WITH resent AS (
    DELETE FROM deliveries delivery
    WHERE delivery.business_id = ?business
        AND delivery.id BETWEEN ?first AND ?last
        AND delivery.id = ANY (?ids::uuid[])
        AND (?state = '' OR delivery.state = ?state)
        AND NOT ?is_switched_off
        AND (
            SELECT true
            FROM events
            WHERE id = delivery.event_id AND business_id = delivery.business_id
            LIMIT 1
        )
    RETURNING
        delivery.business_id,
        delivery.id,
        delivery.event_id,
        delivery.event_type,
        coalesce(delivery.webhook_id, 0) AS webhook_id,
        delivery.url,
        delivery.attempts
)
SELECT
    resent.id,
    resent.event_id,
    resent.event_type,
    resent.webhook_id,
    resent.url,
    resent.attempts,
    event.head,
    event.size,
    event.ordering_key,
    event.sequence
FROM resent
CROSS JOIN LATERAL (
    SELECT
        substring(body FOR ?head) AS head,
        length(body) AS size,
        coalesce(order_id, 0) AS ordering_key,
        coalesce(sequence, 0) AS sequence
    FROM events
    WHERE id = resent.event_id AND business_id = resent.business_id
    LIMIT 1
) event
ORDER BY resent.id

-- name: retry_now
-- Makes waiting deliveries due, locked in key order.
UPDATE delivery_queue queue
SET due_at = ?now, available_at = ?now, manual = queue.manual OR ?manual
FROM (
    SELECT delivery.business_id, delivery.id
    FROM delivery_queue delivery
    WHERE delivery.business_id = ?business
        AND delivery.id = ANY (?ids::uuid[])
        AND delivery.owner IS NULL
        AND delivery.available_at < 'infinity'
        AND NOT ?is_switched_off
    ORDER BY delivery.id
    FOR UPDATE OF delivery
) waiting
WHERE queue.business_id = waiting.business_id AND queue.id = waiting.id

-- name: choose_resends
-- Chooses the deliveries that an order retry sends. Returns the orders that no webhook accepted and no active
-- one received.
WITH
-- The events of the orders placed in the window.
placed AS MATERIALIZED (
    SELECT id, placed_event, state = ?cancelled AS cancelled
    FROM orders
    WHERE business_id = ?business AND created_at >= ?from AND created_at < ?to
),
-- The deliveries of such events, in the queue and in the history.
sends AS MATERIALIZED (
    SELECT
        queue.id,
        queue.event_id,
        webhook.active,
        true AS queued,
        queue.owner IS NULL OR queue.attempts > 0 AS missing,
        false AS accepted
    FROM webhooks webhook
    JOIN delivery_queue queue ON queue.business_id = webhook.business_id AND queue.endpoint = webhook.id
    WHERE webhook.business_id = ?business AND webhook.event_type = ?event_type
    UNION ALL
    SELECT
        delivery.id,
        delivery.event_id,
        webhook.active,
        false,
        delivery.state = 'failed',
        delivery.state = 'delivered'
    FROM webhooks webhook
    JOIN deliveries delivery ON delivery.business_id = webhook.business_id AND delivery.webhook_id = webhook.id
    WHERE webhook.business_id = ?business AND webhook.event_type = ?event_type AND delivery.id >= ?first
),
-- The deliveries to resend.
chosen AS (
    INSERT INTO followed_resends (business_id, reference, delivery_id, order_id, state, prior_attempts)
    SELECT ?business, ?reference, sends.id, placed.id, ?chosen, 0
    FROM sends
    JOIN placed ON placed.placed_event = sends.event_id
    WHERE sends.active AND sends.missing AND (sends.queued OR NOT placed.cancelled)
)
SELECT id, placed_event
FROM placed
WHERE NOT cancelled
    AND NOT EXISTS (
        SELECT 1
        FROM sends
        WHERE sends.event_id = placed.placed_event AND (sends.active OR sends.accepted)
    )

-- name: resends_to_send
-- Locks the orders of chosen deliveries, so that a later cancellation is sent after them. Returns the deliveries, and
-- whether the order of each is cancelled.
WITH
chosen AS MATERIALIZED (
    SELECT delivery_id, order_id
    FROM followed_resends
    WHERE business_id = ?business
        AND reference = ?reference
        AND delivery_id BETWEEN ?first AND ?last
        AND delivery_id = ANY (?ids::uuid[])
),
-- Materialized, because a condition on it would limit which rows are locked.
locked AS MATERIALIZED (
    SELECT id, state
    FROM orders
    WHERE business_id = ?business AND id = ANY (ARRAY(SELECT order_id FROM chosen))
    ORDER BY id
    FOR SHARE
)
SELECT chosen.delivery_id, coalesce(locked.state = ?cancelled, false) AS cancelled
FROM chosen
LEFT JOIN locked ON locked.id = chosen.order_id
ORDER BY chosen.delivery_id

-- name: choose_problem_resends
-- Chooses the failed deliveries of a problem.
INSERT INTO followed_resends (business_id, reference, delivery_id, state, prior_attempts)
SELECT delivery.business_id, ?reference, delivery.id, ?chosen, 0
FROM deliveries delivery
WHERE delivery.business_id = ?business ?selected

-- name: mark_resends
-- Marks those of the deliveries that are queued as sent, and their orders, which are locked, as notified. Counts them.
WITH
sent AS (
    UPDATE followed_resends resend
    SET state = ?sent, prior_attempts = delivery.attempts
    FROM delivery_queue delivery
    WHERE resend.business_id = ?business
        AND resend.reference = ?reference
        AND resend.state = ?chosen
        AND resend.delivery_id BETWEEN ?first AND ?last
        AND resend.delivery_id = ANY (?ids::uuid[])
        AND delivery.business_id = resend.business_id
        AND delivery.id = resend.delivery_id
        AND NOT ?is_switched_off
    RETURNING resend.order_id
),
notified AS (
    UPDATE orders
    SET unnotified = false
    WHERE business_id = ?business AND id = ANY (ARRAY(SELECT order_id FROM sent)) AND unnotified
)
SELECT count(*)
FROM sent

-- name: deselect
-- Removes chosen deliveries that are not sent. Those that the job has created never were, so they leave the history,
-- unless their webhook was switched off.
WITH deselected AS (
    DELETE FROM followed_resends
    WHERE business_id = ?business
        AND reference = ?reference
        AND state = ?chosen
        AND delivery_id BETWEEN ?first AND ?last
    RETURNING delivery_id, created
)
DELETE FROM deliveries delivery
USING deselected
WHERE deselected.created
    AND delivery.business_id = ?business
    AND delivery.id = deselected.delivery_id
    AND delivery.id BETWEEN ?first AND ?last
    AND delivery.state = 'failed'
    AND delivery.attempts = 0
    AND NOT ?is_switched_off

-- name: record_responses
-- Records the responses to resent deliveries, with final only those that ended them. One that left the queue
-- undelivered has failed, and so has one whose webhook was switched off. Single lookups by key: both tables are
-- large and have no statistics yet.
UPDATE followed_resends resend
SET state = CASE (
        SELECT delivery.state
        FROM deliveries delivery
        WHERE delivery.business_id = resend.business_id AND delivery.id = resend.delivery_id
        LIMIT 1
    )
    WHEN 'delivered' THEN ?accepted
    ELSE ?failed
END
WHERE resend.business_id = ?business
    AND resend.reference = ?reference
    AND resend.state = ?sent
    AND coalesce(
        (
            SELECT NOT ?final AND delivery.attempts > resend.prior_attempts
            FROM delivery_queue delivery
            WHERE delivery.business_id = resend.business_id
                AND delivery.id = resend.delivery_id
                AND NOT ?is_switched_off
            LIMIT 1
        ),
        true
    )

-- name: tally_resends
-- Counts the orders of an order retry, or the deliveries of a problem, and records the progress.
WITH
-- Each order: whether it was sent, waits for a response, and has failed at a webhook.
sends AS (
    SELECT bool_or(state >= ?sent) AS sent, bool_or(state = ?sent) AS open, bool_or(state = ?failed) AS failed
    FROM followed_resends
    WHERE business_id = ?business AND reference = ?reference
    GROUP BY order_id, CASE WHEN order_id IS NULL THEN delivery_id END
),
-- The number of orders in each state.
tally AS (
    SELECT
        count(*) AS chosen,
        count(*) FILTER (WHERE sent) AS sent,
        count(*) FILTER (WHERE sent AND NOT open) AS answered,
        count(*) FILTER (WHERE failed AND NOT open) AS failed
    FROM sends
),
-- The progress of the job.
recorded AS (
    UPDATE jobs
    SET progress = answered, total = chosen
    FROM tally
    WHERE business_id = ?business AND id = ?reference
)
SELECT chosen, sent, answered, failed
FROM tally
