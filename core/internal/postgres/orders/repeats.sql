-- name: original
-- The placed order of an order that was changed since.
SELECT event.body
FROM orders
JOIN events event ON event.business_id = orders.business_id AND event.id = orders.placed_event
WHERE orders.business_id = ?business AND orders.id = ?order AND orders.updated_event IS NOT NULL

-- name: store_of
-- The store of a platform's order.
SELECT store.ref_id
FROM orders
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
WHERE orders.business_id = ?business AND orders.platform = ?platform AND orders.platform_order_id = ?ref

-- name: store_repeat
-- Stores a repeat of an order with other content. The same differences increase a counter. An order whose personal
-- data was erased differs from every repeat: none is stored.
INSERT INTO order_repeats AS stored (business_id, order_id, differences, actor, times, first_at, last_at)
SELECT ?business, ?order, ?differences, ?actor, 1, ?now, ?now
FROM orders
WHERE business_id = ?business AND id = ?order AND erased_at IS NULL
ON CONFLICT (business_id, order_id, differences) DO UPDATE
SET
    actor = excluded.actor,
    times = stored.times + 1,
    last_at = greatest(stored.last_at, excluded.last_at)

-- name: drop_repeats
-- Deletes all but the latest repeats of an order.
DELETE FROM order_repeats
WHERE business_id = ?business
    AND order_id = ?order
    AND last_at < (
        SELECT last_at
        FROM order_repeats
        WHERE business_id = ?business AND order_id = ?order
        ORDER BY last_at DESC
        OFFSET ?most - 1
        LIMIT 1
    )
