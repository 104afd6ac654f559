-- name: found
-- The orders that match a condition. Materialized, because with a limit the planner would rather scan by time.
found AS MATERIALIZED (
    SELECT
        orders.id,
        orders.created_at,
        orders.erased_at,
        orders.state,
        orders.updated_at,
        orders.scheduled_for
    FROM orders
    WHERE orders.business_id = ?business ?only
)

-- name: is_unfinished
-- The condition that the order "found" is still fulfilled, delivered to a webhook or sent to its aggregator.
(
    coalesce(found.scheduled_for > ?now::timestamptz, false)
    OR (
        found.state NOT IN ('Completed', 'Cancelled')
        AND found.updated_at > ?now::timestamptz - interval '1 day'
    )
    OR EXISTS (
        SELECT 1
        FROM delivery_queue delivery
        WHERE delivery.business_id = ?business AND delivery.ordering_key <> 0 AND delivery.ordering_key = found.id
    )
    OR EXISTS (
        SELECT 1
        FROM calls call
        WHERE call.business_id = ?business AND call.order_id = found.id AND call.state IN ('waiting', 'pending')
    )
    OR EXISTS (
        SELECT 1
        FROM call_queue queued
        WHERE queued.business_id = ?business AND queued.order_id = found.id AND queued.owner IS NOT NULL
    )
)

-- name: orders_of_customer
-- A page of the orders of a customer, the newest first.
WITH
-- include: found
SELECT
    orders.id,
    orders.platform,
    orders.platform_order_id,
    orders.store_id,
    store.ref_id,
    store.name,
    orders.state,
    orders.created_at
FROM (
    SELECT id
    FROM found
    WHERE true ?page
    ORDER BY created_at DESC, id DESC
    LIMIT ?limit
) page
JOIN orders ON orders.business_id = ?business AND orders.id = page.id
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
ORDER BY orders.created_at DESC, orders.id DESC

-- name: orders_without_hashes
-- Locks orders whose customer hashes are unknown. Another replica may work on them: then they are skipped. Returns a
-- row for the placed order and for each of its changes, because a change may name another customer.
WITH
unknown AS MATERIALIZED (
    SELECT id, placed_event
    FROM orders
    WHERE business_id = ?business AND customer_hashes IS NULL
    ORDER BY id
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
)
SELECT unknown.id, coalesce(event.body, '') AS body
FROM unknown
CROSS JOIN LATERAL (
    SELECT unknown.placed_event AS id
    UNION ALL
    SELECT revision.event_id
    FROM order_revisions revision
    WHERE revision.business_id = ?business AND revision.order_id = unknown.id AND revision.event_id IS NOT NULL
) content
LEFT JOIN events event ON event.business_id = ?business AND event.id = content.id
ORDER BY unknown.id

-- name: store_hashes
-- Stores the hashes of orders. An order may have several rows of hashes.
UPDATE orders
SET customer_hashes = hashed.hashes
FROM (
    SELECT content.id, coalesce(array_agg(DISTINCT hash.value) FILTER (WHERE hash.value IS NOT NULL), '{}') AS hashes
    FROM unnest(?orders::bigint[], ?hashes::text[]) AS content (id, hashes)
    LEFT JOIN LATERAL unnest(content.hashes::bigint[]) AS hash (value) ON true
    GROUP BY content.id
) hashed
WHERE orders.business_id = ?business AND orders.id = hashed.id

-- name: extent
-- How many orders and calls match a condition, up to a number of orders.
WITH
-- include: found
,
counted AS MATERIALIZED (
    SELECT *
    FROM found
    LIMIT ?most
)
SELECT
    count(*),
    count(found.erased_at),
    count(*) FILTER (
        WHERE found.erased_at IS NULL AND
        -- include: is_unfinished
    ),
    (
        SELECT count(*)
        FROM counted called
        JOIN calls call ON call.business_id = ?business AND call.order_id = called.id
    )
FROM counted found

-- name: events_of_customer
-- The events of orders that match a condition.
WITH
-- include: found
SELECT event.id
FROM (SELECT id FROM found LIMIT ?most) found
JOIN events event ON event.business_id = ?business AND event.order_id = found.id

-- name: deliveries_of_events
-- The ended and unfinished deliveries of events, whose ids are near those of the events.
SELECT delivery.id
FROM unnest(?events::uuid[], ?first::uuid[], ?last::uuid[]) AS event (id, first, last)
CROSS JOIN LATERAL (
    SELECT id
    FROM deliveries
    WHERE business_id = ?business AND id >= event.first AND id < event.last AND event_id = event.id
    UNION ALL
    SELECT id
    FROM delivery_queue
    WHERE business_id = ?business AND id >= event.first AND id < event.last AND event_id = event.id
) delivery
