-- name: list
-- A page of orders, the newest first.
SELECT
    orders.id,
    orders.platform,
    orders.platform_order_id,
    store.ref_id,
    orders.state,
    orders.delivery_type,
    orders.is_bulk_order,
    orders.flags,
    coalesce(orders.reference, ''),
    orders.created_at,
    orders.updated_at,
    orders.escalated_at
FROM orders
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
WHERE orders.business_id = ?business ?only
ORDER BY orders.created_at DESC, orders.id DESC
LIMIT ?limit

-- name: drop_old
-- Deletes the oldest orders past the retention with all that belongs to them. Returns their number.
WITH
old AS (
    DELETE FROM orders
    WHERE business_id = ?business
        AND id IN (
            SELECT id
            FROM orders
            WHERE business_id = ?business AND created_at < ?before AND coalesce(scheduled_for < ?before, true)
            ORDER BY created_at, id
            LIMIT ?limit
            FOR UPDATE SKIP LOCKED
        )
    RETURNING id
),
states AS (
    DELETE FROM order_states WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
reports AS (
    DELETE FROM out_of_stock_reports WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
repeats AS (
    DELETE FROM order_repeats WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
riders AS (
    DELETE FROM rider_statuses WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
called AS (
    DELETE FROM calls WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
)
SELECT count(*)
FROM old
