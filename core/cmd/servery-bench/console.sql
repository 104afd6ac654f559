-- These statements fill the lists of the console. Most rows are copies of one that the hub stored.

-- name: market_and_problems
INSERT INTO platforms (business_id, name, served_by)
VALUES (?business, 'market', 'market');

INSERT INTO plugins (id)
VALUES ('market');

INSERT INTO problems (business_id, server, error_class, status, webhooks, first_seen_at, last_seen_at)
SELECT ?business, 'pos-' || i || '.example', 'status', 503, '{}', now() - interval '9 days',
    now() - i * interval '1 hour'
FROM generate_series(0, 199) i;

-- name: failed_deliveries
UPDATE deliveries
SET state = 'failed', status = 503, problem_id = 1 + get_byte(uuid_send(id), 14) % 200
WHERE id >= ?first AND id < ?next AND get_byte(uuid_send(id), 15) % 100 = 0;

INSERT INTO attempts
SELECT business_id, delivery_id, i, started_at, url, request_headers, status, error_class, error, response_headers,
    response_body, dns_us, connect_us, tls_us, first_byte_us, total_us
FROM attempts, generate_series(2, 3) i
WHERE delivery_id >= ?first AND delivery_id < ?next AND n = 1;

-- name: sold_at_other_stores
INSERT INTO store_overrides (business_id, store_id, kind, id, content)
SELECT a.business_id, s.id, a.kind, a.id, a.content
FROM store_overrides a
JOIN stores s ON s.business_id = a.business_id AND s.id <> a.store_id
WHERE a.store_id = (SELECT id FROM stores WHERE ref_id = ?pattern) AND s.id % ?parts = ?part;

-- name: console_rows
INSERT INTO attempt_counts (business_id, bucket_seconds, bucket_start, webhook_id, succeeded, failed, total_us, max_us)
SELECT w.business_id, g.grain,
    to_timestamp(floor(extract(epoch FROM now()) / g.grain) * g.grain) - i * g.grain * interval '1 second', x, 900, 30,
    20000000, 900000
FROM webhooks w, (VALUES (60, 2880), (3600, 2160)) g (grain, spans), generate_series(0, g.spans - 1) i,
    unnest(ARRAY[0, w.id]) x
WHERE w.business_id = ?business
ON CONFLICT DO NOTHING;

INSERT INTO orders
SELECT copy.*
FROM orders o, generate_series(1, 200000) i, jsonb_populate_record(o, jsonb_build_object('id', 10000000 + i,
    'platform_order_id', 'C-' || i, 'created_at', now() - i * interval '10 seconds', 'updated_at', now())) copy
WHERE o.business_id = ?business AND o.id = (SELECT min(id) FROM orders WHERE business_id = ?business);

INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor, state, message, attempts,
    created_at, finished_at)
SELECT business_id, gen_random_uuid(), 'order/' || id, 'rider_status', 'market', id, '{"status":"assigned"}',
    'key:pos', CASE WHEN id % 100 = 0 THEN 'failed' ELSE 'done' END, '', 1, created_at, created_at
FROM orders
WHERE business_id = ?business AND id % 2 = 0;

INSERT INTO call_attempts
SELECT business_id, id, order_id, 1, created_at, 'POST', 'https://market.example/', '{}', '', 200, '', '', '{}', '',
    90000
FROM calls
WHERE business_id = ?business;

INSERT INTO publications (business_id, store_id, platform, endpoint, reference, publish_requests, due_at, available_at,
    state, published_at, settled_at)
SELECT business_id, id, 'market', 1, gen_random_uuid(), '{}', now(), 'infinity', 'published', now(), now()
FROM stores
WHERE business_id = ?business;

INSERT INTO sent_menus
SELECT business_id, store_id, 'market', gen_random_uuid(), 1, now(),
    convert_to(string_agg(content::text, ','), 'UTF8'), 200000, 200, '{"ok":true}', 'published', ''
FROM store_overrides
WHERE business_id = ?business
GROUP BY business_id, store_id;

INSERT INTO platform_findings (business_id, platform, item_id, rule, message)
SELECT business_id, 'market', id, 'photo', 'needs a photo'
FROM catalogue_entities
WHERE business_id = ?business AND kind = 1 AND id % 10 = 0;

INSERT INTO rejected_orders
SELECT id, 'market', i::text, 'S-1', 'no such item', false, 1, now(), now() - i * interval '1 minute'
FROM businesses, generate_series(1, 500) i
WHERE id = ?business;

INSERT INTO audit (business_id, id, at, actor, action, object)
SELECT b, gen_random_uuid(), now() - i * interval '1 minute', 'key:pos', 'store.close', 'store/1'
FROM generate_series(1, 20000) i, unnest(ARRAY[0, ?business]) b;

INSERT INTO jobs
SELECT copy.*
FROM jobs j, generate_series(1, 5000) i,
    jsonb_populate_record(j, jsonb_build_object('id', md5(i::text)::uuid)) copy
WHERE j.business_id = ?business
    AND j.id = (SELECT id FROM jobs WHERE business_id = ?business ORDER BY length(body) LIMIT 1);

INSERT INTO revisions
SELECT copy.*
FROM revisions r, generate_series(1, 2000) i,
    jsonb_populate_record(r, jsonb_build_object('id', md5(i::text)::uuid)) copy
WHERE r.business_id = ?business
    AND r.id = (SELECT id FROM revisions WHERE business_id = ?business ORDER BY id LIMIT 1);

INSERT INTO api_keys (business_id, username, key_hash, prefix, scope, created_at)
SELECT id, 'pos-' || i, sha256(i::text::bytea), 'abcd', 'pos', now()
FROM businesses, generate_series(1, 100) i
WHERE id = ?business;

INSERT INTO users (email, role, created_at)
SELECT i || '@example.com', 'viewer', now()
FROM generate_series(1, 200) i;

-- name: page_ids
-- An object for each page of one object, by the path before its id, as a JSON object.
SELECT jsonb_object_agg(path, id)
FROM (
    SELECT 'audit/' AS path, min(id::text) AS id
    FROM audit
    WHERE business_id = 0
    UNION ALL
    SELECT 'plugins/', min(id)
    FROM plugins
    UNION ALL
    SELECT 'users/', min(id)::text
    FROM users
    UNION ALL
    SELECT concat('b/', ?business, '/', path), id
    FROM (
        (SELECT 'audit/' AS path, id::text AS id FROM audit WHERE business_id = ?business
            ORDER BY audit.id DESC LIMIT 1)
        UNION ALL
        (SELECT 'calls/', id::text FROM calls WHERE business_id = ?business AND state = 'failed' LIMIT 1)
        UNION ALL
        (SELECT 'customers/', 'order-' || min(id) FROM orders WHERE business_id = ?business)
        UNION ALL
        (SELECT 'deliveries/', id::text FROM deliveries WHERE business_id = ?business AND state = 'failed'
            ORDER BY deliveries.id DESC LIMIT 1)
        UNION ALL
        (SELECT 'deliveries/resend/\?webhook=', id::text FROM webhooks
            WHERE business_id = ?business AND event_type = 'order_placed')
        UNION ALL
        (SELECT 'history/', revision_id::text FROM revision_parts WHERE business_id = ?business AND NOT created LIMIT 1)
        UNION ALL
        (SELECT 'items/', id::text FROM catalogue_entities WHERE business_id = ?business AND kind = 1
            ORDER BY catalogue_entities.id LIMIT 1)
        UNION ALL
        (SELECT 'jobs/', id::text FROM jobs WHERE business_id = ?business AND kind = 'menu' ORDER BY jobs.id LIMIT 1)
        UNION ALL
        (SELECT 'orders/', min(id)::text FROM orders WHERE business_id = ?business)
        UNION ALL
        (SELECT 'problems/', id::text FROM problems WHERE business_id = ?business ORDER BY last_seen_at DESC LIMIT 1)
        UNION ALL
        (SELECT 'stores/', store_id::text FROM store_overrides WHERE business_id = ?business LIMIT 1)
        UNION ALL
        (SELECT 'webhooks/', id::text FROM webhooks WHERE business_id = ?business AND event_type = 'order_placed')
    ) of_business
) ids
