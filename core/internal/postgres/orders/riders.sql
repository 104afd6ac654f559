-- name: read_rider_statuses
-- The statuses of riders, sorted by order and number.
SELECT
    rider.business_id,
    rider.order_id,
    rider.status,
    rider.at,
    rider.rider_name,
    rider.rider_phone,
    rider.actor,
    coalesce(rider.location, '')
FROM unnest(?businesses::bigint[], ?orders::bigint[]) AS wanted (business, id)
JOIN rider_statuses rider ON rider.business_id = wanted.business AND rider.order_id = wanted.id
ORDER BY rider.business_id, rider.order_id, rider.n

-- name: store_statuses
INSERT INTO rider_statuses (business_id, order_id, n, status, at, rider_name, rider_phone, actor, location, call_id)
SELECT
    business,
    id,
    n,
    status,
    to_timestamp(at / 1000.0),
    name,
    phone,
    actor,
    nullif(location, ''),
    nullif(call, '')::uuid
FROM unnest(
    ?businesses::bigint[],
    ?orders::bigint[],
    ?numbers::integer[],
    ?statuses::text[],
    ?at::bigint[],
    ?names::text[],
    ?phones::text[],
    ?actors::text[],
    ?locations::text[],
    ?calls::text[]
) AS taken (business, id, n, status, at, name, phone, actor, location, call)

-- name: locate_courier
-- Updates the location of the rider with the latest status of an order.
UPDATE rider_statuses
SET location = ?location
WHERE business_id = ?business AND order_id = ?order AND n = ?number

-- name: located_orders
-- prepare: businesses bigint[], orders bigint[]
-- The orders of rider locations, with their latest rider status.
SELECT
    orders.business_id,
    orders.id,
    CASE WHEN orders.order_type = 'delivery' THEN orders.delivery_type ELSE '' END,
    orders.platform,
    coalesce(platform.served_by, 'own'),
    orders.state,
    coalesce(
        (
            SELECT rider.status
            FROM rider_statuses rider
            WHERE rider.business_id = orders.business_id AND rider.order_id = orders.id
            ORDER BY rider.n DESC
            LIMIT 1
        ),
        ''
    )
FROM (
    SELECT DISTINCT business, id
    FROM unnest(?businesses, ?orders) AS given (business, id)
) wanted
JOIN orders ON orders.business_id = wanted.business AND orders.id = wanted.id
LEFT JOIN platforms platform ON platform.business_id = orders.business_id AND platform.name = orders.platform

-- name: queue_locations
-- prepare: kind text, now timestamptz, businesses bigint[], ordering_keys text[], platforms text[], orders bigint[]
-- prepare: endpoints bigint[], payloads text[], calls uuid[], seen timestamptz[], latest timestamptz
-- Queues the newest locations of riders, locked in key order. A queued location keeps its schedule. After a recent
-- send it waits for the rate limit, but not beyond the latest time.
INSERT INTO call_queue AS queued (
    business_id, ordering_key, kind, platform, order_id, endpoint, payload, call_id, received_at, due_at, available_at
)
SELECT business, ordering_key, ?kind, platform, id, endpoint, payload, call, seen, ?now, ?now
FROM unnest(?businesses, ?ordering_keys, ?platforms, ?orders, ?endpoints, ?payloads, ?calls, ?seen)
    AS location (business, ordering_key, platform, id, endpoint, payload, call, seen)
ORDER BY business, ordering_key
ON CONFLICT (business_id, ordering_key) DO UPDATE
SET
    payload = excluded.payload,
    call_id = excluded.call_id,
    received_at = excluded.received_at,
    version = queued.version + 1,
    due_at = CASE
        WHEN queued.available_at = 'infinity' THEN least(greatest(queued.due_at, ?now), ?latest)
        ELSE queued.due_at
    END,
    available_at = CASE
        WHEN queued.available_at = 'infinity' THEN least(greatest(queued.due_at, ?now), ?latest)
        ELSE queued.available_at
    END
WHERE queued.received_at <= excluded.received_at
