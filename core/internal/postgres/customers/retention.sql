-- name: past_retention
-- The next orders of a business past its retention of personal data, the oldest first.
SELECT orders.created_at, orders.id
FROM orders
JOIN personal_data_rules rule ON rule.business_id = orders.business_id
WHERE orders.business_id = ?business
    AND orders.created_at < ?before
    AND (orders.created_at, orders.id) > (rule.erased_until, rule.erased_order)
ORDER BY orders.created_at, orders.id
LIMIT ?limit

-- name: move_retention
-- Stores how far the retention of a business is, and requests the erasure of unfinished orders.
WITH
requested AS (
    INSERT INTO customer_erasures (business_id, id, kind, hash, order_id, actor, requested_at)
    SELECT
        ?business,
        unfinished.id,
        'order',
        0,
        unfinished.order_id,
        ?actor,
        ?now
    FROM unnest(?ids::uuid[], ?orders::bigint[]) AS unfinished (id, order_id)
    ON CONFLICT DO NOTHING
)
UPDATE personal_data_rules
SET
    erased_until = ?at,
    erased_order = ?last
WHERE business_id = ?business
