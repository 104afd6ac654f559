-- name: exported_order
-- An order of an export, without its events.
SELECT
    orders.id,
    orders.platform,
    orders.platform_order_id,
    store.ref_id,
    orders.state,
    orders.created_at,
    orders.erased_at,
    (
        SELECT coalesce(
            json_agg(
                json_build_object('state', state, 'at', at, 'message', message, 'reason_code', reason_code)
                ORDER BY n
            ),
            '[]'
        )
        FROM order_states
        WHERE business_id = orders.business_id AND order_id = orders.id
    ),
    (
        SELECT coalesce(
            json_agg(
                json_build_object(
                    'status', status,
                    'at', at,
                    'rider_name', rider_name,
                    'rider_phone', rider_phone,
                    'location', location::json
                )
                ORDER BY n
            ),
            '[]'
        )
        FROM rider_statuses
        WHERE business_id = orders.business_id AND order_id = orders.id
    ),
    (
        SELECT coalesce(
            json_agg(
                json_build_object(
                    'id', id,
                    'kind', kind,
                    'platform', platform,
                    'state', state,
                    'payload', payload::json,
                    'message', message,
                    'result', result,
                    'created_at', created_at,
                    'finished_at', finished_at
                )
                ORDER BY sequence
            ),
            '[]'
        )
        FROM calls
        WHERE business_id = orders.business_id AND order_id = orders.id
    ),
    (
        SELECT coalesce(
            json_agg(json_build_object('received_at', received_at, 'location', payload::json)),
            '[]'
        )
        FROM call_queue
        WHERE business_id = orders.business_id AND order_id = orders.id AND payload <> ''
    )
FROM orders
JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
WHERE orders.business_id = ?business AND orders.id = ?order

-- name: exported_events
-- The events of an order with the deliveries of each.
SELECT
    event.id,
    event.event_type,
    event.body,
    (
        SELECT coalesce(
            json_agg(
                json_build_object(
                    'url', coalesce(nullif(sent.url, ''), webhook.url),
                    'state', sent.state,
                    'attempts', sent.attempts,
                    'finished_at', sent.finished_at
                )
                ORDER BY sent.id
            ),
            '[]'
        )
        FROM (
            SELECT id, event_id, webhook_id, url, state, attempts, finished_at
            FROM deliveries
            WHERE business_id = ?business AND id = ANY (?deliveries::uuid[])
            UNION ALL
            SELECT id, event_id, webhook_id, url, 'pending', attempts, NULL
            FROM delivery_queue
            WHERE business_id = ?business AND id = ANY (?deliveries::uuid[])
        ) sent
        LEFT JOIN webhooks webhook ON webhook.business_id = ?business AND webhook.id = sent.webhook_id
        WHERE sent.event_id = event.id
    )
FROM events event
WHERE event.business_id = ?business AND event.order_id = ?order
ORDER BY event.sequence, event.id
