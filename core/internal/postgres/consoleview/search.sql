-- name: search
-- Objects with a text as id or ref_id, or in a name or URL. At most a limit of each kind.
SELECT *
FROM (
    SELECT
        id AS business_id,
        'business' AS kind,
        id::text AS id,
        name AS title,
        country || ' · ' || currency AS detail
    FROM businesses
    WHERE id = ANY (?businesses) AND (id = ?number OR name ILIKE ?pattern)
    ORDER BY lower(name)
    LIMIT ?limit
) business
UNION ALL
SELECT *
FROM (
    SELECT
        business_id,
        'order',
        id::text,
        'Order ' || id,
        platform || ' · ' || platform_order_id || ' · ' || state
    FROM (
        SELECT *
        FROM orders
        WHERE business_id = ANY (?businesses) AND id = ?number
        UNION
        SELECT orders.*
        FROM platforms platform
        JOIN orders
            ON orders.business_id = platform.business_id
            AND orders.platform = platform.name
            AND orders.platform_order_id = ?text
        WHERE platform.business_id = ANY (?businesses)
        UNION
        SELECT *
        FROM orders
        WHERE business_id = ANY (?businesses) AND reference = ?text
    ) named
    ORDER BY business_id, id DESC
    LIMIT ?limit
) orders
UNION ALL
SELECT *
FROM (
    SELECT
        business_id,
        'refused',
        platform_order_id,
        platform_order_id,
        platform || ' · ' || store || ' · ' || reason
    FROM rejected_orders
    WHERE business_id = ANY (?businesses) AND platform_order_id = ?text
    ORDER BY last_at DESC
    LIMIT ?limit
) rejected
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'refused at', store, store, count(*)::text
    FROM rejected_orders
    WHERE business_id = ANY (?businesses) AND store = ?text
    GROUP BY business_id, store
    LIMIT ?limit
) rejected_at
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'webhook', id::text, event_type, url
    FROM webhooks
    WHERE business_id = ANY (?businesses) AND (id = ?number OR url ILIKE ?pattern OR event_type = ?text)
    ORDER BY business_id, id
    LIMIT ?limit
) webhook
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'store', id::text, name, ref_id || ' · ' || city
    FROM stores
    WHERE business_id = ANY (?businesses) AND (id = ?number OR ref_id ILIKE ?pattern OR name ILIKE ?pattern)
    ORDER BY ref_id <> ?text, business_id, ref_id
    LIMIT ?limit
) store
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'item', id::text, coalesce(record ->> 'title', ''), name
    FROM catalogue_entities
    WHERE business_id = ANY (?businesses)
        AND kind = ?items
        AND (id = ?number OR name ILIKE ?pattern OR record ->> 'title' ILIKE ?pattern)
    ORDER BY name <> ?text, business_id, name
    LIMIT ?limit
) item
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'key', id::text, username, prefix || '…'
    FROM api_keys
    WHERE business_id = ANY (?businesses) AND (username ILIKE ?pattern OR prefix = left(?text, 8))
    ORDER BY business_id, id
    LIMIT ?limit
) api_key
UNION ALL
SELECT *
FROM (
    SELECT
        business_id,
        'job',
        id::text,
        kind,
        coalesce(
            (
                SELECT failed ->> 'message'
                FROM jsonb_array_elements(result -> 'failed') failed
                WHERE failed ->> 'ref_id' = ?text
                LIMIT 1
            ),
            ''
        )
    FROM jobs
    WHERE business_id = ANY (?businesses)
        AND result->'failed' @> jsonb_build_array(jsonb_build_object('ref_id', ?text::text))
    ORDER BY id DESC
    LIMIT ?limit
) job

-- name: search_id
-- The job, delivery, event, order or store that an id identifies. For a request reference, the number of its events.
SELECT business_id, 'job' AS kind, id::text AS id, kind AS title, subject AS detail
FROM jobs
WHERE business_id = ANY (?businesses) AND id = ?id
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'delivery', id::text, event_type, url
    FROM deliveries
    WHERE business_id = ANY (?businesses) AND (id = ?id OR id BETWEEN ?from AND ?to AND event_id = ?id)
    LIMIT ?limit
) delivery
UNION ALL
SELECT *
FROM (
    SELECT business_id, 'delivery', id::text, event_type, url
    FROM delivery_queue
    WHERE business_id = ANY (?businesses) AND (id = ?id OR id BETWEEN ?from AND ?to AND event_id = ?id)
    LIMIT ?limit
) queued
UNION ALL
SELECT *
FROM (
    SELECT DISTINCT
        call.business_id,
        'order',
        call.order_id::text,
        'Order ' || call.order_id,
        call.platform || ' · ' || call.kind
    FROM calls call
    WHERE call.business_id = ANY (?businesses)
        AND call.id BETWEEN ?from AND ?to
        AND call.order_id <> 0
        AND (call.id = ?id OR call.payload LIKE ?pattern)
    LIMIT ?limit
) of_order
UNION ALL
SELECT *
FROM (
    SELECT DISTINCT call.business_id, 'store', store.id::text, store.name, store.ref_id
    FROM calls call
    JOIN stores store
        ON store.business_id = call.business_id
        AND store.id = substring(call.ordering_key FROM '^store:.*/([0-9]+)$')::bigint
    WHERE call.business_id = ANY (?businesses)
        AND call.id BETWEEN ?from AND ?to
        AND call.order_id = 0
        AND (call.id = ?id OR call.payload LIKE ?pattern)
    LIMIT ?limit
) of_store
UNION ALL
SELECT business_id, 'reference', ?text, min(event_type), count(*)::text
FROM events
WHERE business_id = ANY (?businesses)
    AND reference = ?text
    AND reference <> ''
    AND NOT EXISTS (
        SELECT
        FROM jobs
        WHERE jobs.business_id = events.business_id AND jobs.id = ?id
    )
GROUP BY business_id
