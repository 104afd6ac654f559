-- name: overdue
-- The orders that have reached the limit of their business since the last check, up to a maximum age.
SELECT waiting.business_id, waiting.id
FROM businesses business
LEFT JOIN presence_rules rule ON rule.business_id = business.id
CROSS JOIN LATERAL (
    SELECT coalesce(rule.ack_within_s, ?within_seconds) * interval '1 second'
) AS acknowledgement (within)
CROSS JOIN LATERAL (
    SELECT business_id, id, state
    FROM orders
    WHERE business_id = business.id
        AND created_at > greatest(
            coalesce(rule.orders_checked_until, ?from::timestamptz),
            ?now::timestamptz - acknowledgement.within - ?back_seconds * interval '1 second'
        )
        AND created_at <= ?now::timestamptz - acknowledgement.within
) waiting
WHERE acknowledgement.within > '0' AND waiting.state = ?placed

-- name: store_cursors
-- Moves the cursors of the businesses that have their own limit.
UPDATE presence_rules rule
SET orders_checked_until = ?now::timestamptz - acknowledgement.within
FROM (
    SELECT business_id, coalesce(ack_within_s, ?within_seconds) * interval '1 second' AS within
    FROM presence_rules
    ORDER BY business_id
    FOR UPDATE
) acknowledgement
WHERE acknowledgement.business_id = rule.business_id
    AND acknowledgement.within > '0'
    AND (orders_checked_until < ?now::timestamptz - acknowledgement.within OR orders_checked_until IS NULL)
