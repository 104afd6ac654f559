-- name: list_orders
-- A page of orders with the latest rider status, by the time of placement.
SELECT
    page.id,
    page.platform,
    page.platform_order_id,
    page.store_id,
    store.ref_id,
    store.name,
    page.state,
    coalesce(rider.status, ''),
    page.flags,
    page.created_at,
    page.updated_at,
    page.escalated_at IS NOT NULL,
    page.placed_event,
    page.delivery_type,
    coalesce(page.reference, '')
FROM (
    SELECT *
    FROM orders
    WHERE orders.business_id = ?business ?only
    ORDER BY orders.created_at ?order, orders.id ?order
    LIMIT ?limit
) page
JOIN stores store ON store.business_id = page.business_id AND store.id = page.store_id
LEFT JOIN LATERAL (
    SELECT status
    FROM rider_statuses
    WHERE business_id = page.business_id AND order_id = page.id
    ORDER BY n DESC
    LIMIT 1
) rider ON true
ORDER BY page.created_at ?order, page.id ?order

-- name: orders_named
-- The ids of the orders with an id, a platform_order_id or a reference. Joins platforms, because the index on
-- platform_order_id begins with the platform.
SELECT named.id
FROM orders named
WHERE named.business_id = ?business AND named.id = ?number
UNION ALL
SELECT named.id
FROM platforms platform
JOIN orders named
    ON named.business_id = platform.business_id
    AND named.platform = platform.name
    AND named.platform_order_id = ?text
WHERE platform.business_id = ?business
UNION ALL
SELECT named.id
FROM orders named
WHERE named.business_id = ?business AND named.reference = ?text

-- name: rejected_orders_page
-- Rejected orders with the orders that arrived later, the latest first, and their total number.
SELECT
    rejected.platform,
    rejected.platform_order_id,
    rejected.store,
    rejected.reason,
    rejected.hub_fault,
    rejected.rejections,
    rejected.first_at,
    rejected.last_at,
    coalesce(orders.id, 0),
    (sum(CASE WHEN rejected.platform_order_id = '' THEN rejected.rejections ELSE 1 END) OVER ())::bigint
FROM rejected_orders rejected
LEFT JOIN orders
    ON orders.business_id = rejected.business_id
    AND orders.platform = rejected.platform
    AND orders.platform_order_id = rejected.platform_order_id
WHERE rejected.business_id = ?business ?only
ORDER BY rejected.last_at DESC
LIMIT ?limit

-- name: order_repeats
-- The repeats of an order with other content, the latest first.
SELECT differences, actor, times, first_at, last_at
FROM order_repeats
WHERE business_id = ?business AND order_id = ?order
ORDER BY last_at DESC

-- name: order_follow_ups
-- The follow-ups of an order, the earliest first.
SELECT kind, note, actor, at
FROM order_follow_ups
WHERE business_id = ?business AND order_id = ?order
ORDER BY at

-- name: order_revisions
-- The changes of an order at its platform, the earliest first, with the changed orders.
SELECT revision.change_id, revision.reason, revision.note, revision.changes, revision.actor, revision.at, event.body
FROM order_revisions revision
LEFT JOIN events event ON event.business_id = revision.business_id AND event.id = revision.event_id
WHERE revision.business_id = ?business AND revision.order_id = ?order
ORDER BY revision.at, revision.event_id

-- name: placed_order
-- The content of an order when it was placed.
SELECT event.body
FROM orders
JOIN events event ON event.business_id = orders.business_id AND event.id = orders.placed_event
WHERE orders.business_id = ?business AND orders.id = ?order

-- name: arrivals
-- How the order_placed events of orders arrived. A delivery is created with its event, whose id carries the time of
-- the order, so that older rows are not read.
WITH
placed AS MATERIALIZED (
    SELECT placed_event AS event, created_at AS at
    FROM orders
    WHERE business_id = ?business AND id = ANY (?orders::bigint[]) AND created_at >= ?from
),
-- The ended deliveries, and the time until the first accepted attempt.
ended AS MATERIALIZED (
    SELECT
        delivery.state,
        extract(
            epoch FROM (
                SELECT min(attempt.started_at + attempt.total_us * interval '1 microsecond')
                FROM attempts attempt
                WHERE attempt.business_id = ?business
                    AND attempt.delivery_id = delivery.id
                    AND attempt.delivery_id >= ?first
                    AND attempt.status BETWEEN 200 AND 299
            ) - placed.at
        ) AS took
    FROM deliveries delivery
    JOIN placed ON placed.event = delivery.event_id
    WHERE delivery.business_id = ?business AND delivery.id >= ?first AND delivery.event_type = ?event_type
),
waiting AS MATERIALIZED (
    SELECT queue.attempts
    FROM delivery_queue queue
    JOIN placed ON placed.event = queue.event_id
    WHERE queue.business_id = ?business AND queue.id >= ?first AND queue.event_type = ?event_type
)
SELECT
    (SELECT count(*) FROM placed),
    count(*) FILTER (WHERE state = 'delivered'),
    count(*) FILTER (WHERE state = 'failed'),
    (SELECT count(*) FROM waiting),
    (SELECT count(*) FROM waiting WHERE attempts > 0),
    coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY took) FILTER (WHERE state = 'delivered'), 0),
    coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY took) FILTER (WHERE state = 'delivered'), 0)
FROM ended
