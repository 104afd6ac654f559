-- name: find
-- The order of a follow-up, and whether others wait for it. The delivery type is empty if it is not for delivery.
SELECT
    orders.id,
    CASE WHEN orders.order_type = 'delivery' THEN orders.delivery_type ELSE '' END,
    EXISTS (
        SELECT 1
        FROM pending_follow_ups waiting
        WHERE waiting.business_id = orders.business_id
            AND waiting.platform = orders.platform
            AND waiting.platform_order_id = orders.platform_order_id
    )
FROM orders
WHERE orders.business_id = ?business AND orders.platform = ?platform AND orders.platform_order_id = ?ref

-- name: count_waiting
-- How many follow-ups wait for an order, and whether one is a repeat of them. A courier may have the same state twice,
-- with another one between: its report repeats only the newest of them.
SELECT
    count(*),
    coalesce(
        CASE
            WHEN ?courier THEN (array_agg(content ORDER BY id DESC))[1] = ?content
            ELSE bool_or(content = ?content)
        END,
        false
    )
FROM pending_follow_ups
WHERE business_id = ?business AND platform = ?platform AND platform_order_id = ?ref

-- name: store_waiting
INSERT INTO pending_follow_ups (business_id, platform, platform_order_id, id, content, at)
VALUES (?business, ?platform, ?ref, ?id, ?content, ?now)

-- name: waiting
-- The follow-ups whose order has arrived, in the order in which they came.
SELECT
    waiting.business_id,
    waiting.platform,
    waiting.platform_order_id,
    waiting.id,
    waiting.content,
    orders.id,
    CASE WHEN orders.order_type = 'delivery' THEN orders.delivery_type ELSE '' END
FROM pending_follow_ups waiting
JOIN orders
    ON orders.business_id = waiting.business_id
    AND orders.platform = waiting.platform
    AND orders.platform_order_id = waiting.platform_order_id
WHERE ?only
ORDER BY waiting.business_id, orders.id, waiting.id
LIMIT ?most

-- name: drop_waiting
DELETE FROM pending_follow_ups
WHERE business_id = ?business AND platform = ?platform AND platform_order_id = ?ref AND id = ?id

-- name: drop_late
-- Deletes the follow-ups whose order has not arrived.
DELETE FROM pending_follow_ups
WHERE at < ?before

-- name: record
-- Records the outcome of a follow-up. A repeat changes nothing.
INSERT INTO order_follow_ups (business_id, order_id, kind, note, actor, at)
SELECT ?business, ?order, ?kind, ?note, ?actor, ?now
FROM orders
WHERE business_id = ?business AND id = ?order AND erased_at IS NULL
ON CONFLICT DO NOTHING

-- name: order_of
-- The order of a follow-up, with the event that has its present content.
SELECT
    orders.platform,
    coalesce(sent.alias, ''),
    orders.platform_order_id,
    orders.state,
    store.ref_id,
    orders.order_type,
    orders.delivery_type,
    orders.is_bulk_order,
    orders.created_at,
    coalesce(orders.updated_event, orders.placed_event),
    orders.erased_at IS NOT NULL
FROM orders
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
LEFT JOIN platform_aliases sent
    ON sent.business_id = orders.business_id AND sent.platform = orders.platform AND sent.sent
WHERE orders.business_id = ?business AND orders.id = ?order

-- name: lock_order
-- include: order_of
FOR UPDATE OF orders

-- name: present
-- The present content of a locked order, and its preparation time. A statement that waited for the lock would not see
-- the states stored meanwhile.
SELECT
    event.body,
    (
        SELECT step.prep_time_mins
        FROM order_states step
        WHERE step.business_id = ?business AND step.order_id = ?order AND step.prep_time_mins IS NOT NULL
        ORDER BY step.n DESC
        LIMIT 1
    )
FROM events event
WHERE event.business_id = ?business AND event.id = ?event

-- name: find_revision
-- How many changes an order has, and whether one of them was applied before.
SELECT count(*), coalesce(bool_or(change_id = ?change AND event_id IS NOT NULL), false)
FROM order_revisions
WHERE business_id = ?business AND order_id = ?order

-- name: store_revision
-- Stores a change of an order. It replaces a rejected one.
INSERT INTO order_revisions (business_id, order_id, change_id, event_id, reason, note, changes, actor, at)
VALUES (?business, ?order, ?change, ?event, ?reason, ?note, ?changes, ?actor, ?now)
ON CONFLICT (business_id, order_id, change_id) DO UPDATE
SET
    event_id = excluded.event_id,
    note = excluded.note,
    changes = excluded.changes,
    at = excluded.at

-- name: apply_revision
-- Makes a revision the present content of its order.
UPDATE orders
SET
    updated_event = ?event,
    flags = ?flags,
    updated_at = ?now,
    scheduled_for = to_timestamp(nullif(?due, 0) / 1000.0),
    -- Empty: the customer key could not be opened. Then the hashes of the order are unknown until the backfill.
    customer_hashes = CASE
        WHEN customer_hashes IS NOT NULL AND ?hashes <> ''
            THEN ARRAY(SELECT DISTINCT unnest(customer_hashes || nullif(?hashes, '')::bigint[]) ORDER BY 1)
    END
WHERE business_id = ?business AND id = ?order
