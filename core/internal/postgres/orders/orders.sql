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
revised AS (
    DELETE FROM order_revisions WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
followed AS (
    DELETE FROM order_follow_ups WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
riders AS (
    DELETE FROM rider_statuses WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
),
called AS (
    DELETE FROM calls WHERE business_id = ?business AND order_id IN (SELECT id FROM old)
)
SELECT count(*)
FROM old

-- name: read_order
-- An order with its history, the statuses of its rider and its reports of items out of stock, as JSON.
SELECT
    orders.state,
    orders.platform,
    orders.created_at,
    orders.placed_by,
    coalesce(orders.reference, ''),
    orders.escalated_at,
    orders.unnotified,
    event.body,
    (
        SELECT json_agg(
            json_build_object(
                'state', step.state,
                'at', floor(extract(epoch FROM step.at) * 1000)::bigint,
                'message', step.message,
                'reason_code', step.reason_code,
                'prep_time_mins', step.prep_time_mins,
                'actor', step.actor,
                'items_oos', step.items::json -> 'items_oos',
                'items_invalid', step.items::json -> 'items_invalid'
            )
            ORDER BY step.n
        )
        FROM order_states step
        WHERE step.business_id = orders.business_id AND step.order_id = orders.id
    ),
    (
        SELECT json_agg(
            json_build_object(
                'status', rider.status,
                'at', floor(extract(epoch FROM rider.at) * 1000)::bigint,
                'name', rider.rider_name,
                'phone', rider.rider_phone,
                'actor', rider.actor,
                'location', rider.location::json,
                'relay', CASE
                    WHEN call.state <> '' THEN json_build_object(
                        'state', call.state,
                        'message', CASE
                            WHEN call.state = 'waiting' THEN coalesce(queued.note, '')
                            ELSE coalesce(call.message, '')
                        END
                    )
                END
            )
            ORDER BY rider.n
        )
        FROM rider_statuses rider
        LEFT JOIN calls call ON call.business_id = rider.business_id AND call.id = rider.call_id
        -- include: queued_row
        WHERE rider.business_id = orders.business_id AND rider.order_id = orders.id
    ),
    (
        SELECT json_agg(
            json_build_object(
                'reference_id', report.reference,
                'at', floor(extract(epoch FROM report.at) * 1000)::bigint,
                'items_oos', report.items::json,
                'allow_edit', report.allow_edit,
                'actor', report.actor,
                'state', coalesce(call.state, ?done),
                'message', CASE
                    WHEN call.id IS NULL THEN ?read
                    WHEN call.state = 'waiting' THEN coalesce(queued.note, '')
                    ELSE call.message
                END
            )
            ORDER BY report.reference
        )
        FROM out_of_stock_reports report
        LEFT JOIN calls call ON call.business_id = report.business_id AND call.id = report.reference
        -- include: queued_row
        WHERE report.business_id = orders.business_id AND report.order_id = orders.id
    )
FROM orders
JOIN events event
    ON event.business_id = orders.business_id
    -- With row-level security, coalesce could not be an index condition.
    AND event.id = CASE WHEN orders.updated_event IS NULL THEN orders.placed_event ELSE orders.updated_event END
WHERE orders.business_id = ?business AND orders.id = ?order AND (?platform = '' OR orders.platform = ?platform)

-- name: lock_orders
-- prepare: businesses bigint[], orders bigint[]
-- Locks orders in key order. The delivery type is empty if the order is not for delivery.
SELECT
    orders.business_id,
    orders.id,
    orders.platform,
    coalesce(sent.alias, ''),
    orders.platform_order_id,
    CASE WHEN orders.order_type = 'delivery' THEN orders.delivery_type ELSE '' END,
    orders.state,
    store.id,
    store.ref_id,
    coalesce(platform.served_by, 'own'),
    orders.events
FROM orders
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
LEFT JOIN platforms platform ON platform.business_id = orders.business_id AND platform.name = orders.platform
LEFT JOIN platform_aliases sent
    ON sent.business_id = orders.business_id AND sent.platform = orders.platform AND sent.sent
WHERE (orders.business_id, orders.id) IN (SELECT * FROM unnest(?businesses, ?orders))
ORDER BY orders.business_id, orders.id
FOR UPDATE OF orders
