-- name: open_erasure
-- The next erasure that is not done, after a cursor. Another replica may work on it: then it is skipped.
SELECT business_id, id, kind, hash, order_id, requested_at
FROM customer_erasures
WHERE done_at IS NULL AND (requested_at, id) > (?after_at, ?after_id::uuid) ?only
ORDER BY requested_at, id
LIMIT 1
FOR UPDATE SKIP LOCKED

-- name: erasable
-- Locks orders that match a condition and whose personal data can be erased now, in key order.
WITH
-- include: found
SELECT orders.id
FROM orders
WHERE orders.business_id = ?business
    -- another replica may have erased it meanwhile
    AND (orders.erased_at IS NULL OR orders.erased_at < orders.updated_at)
    AND orders.id IN (
        SELECT found.id
        FROM found
        WHERE found.erased_at IS NULL AND found.created_at <= ?until::timestamptz AND NOT
        -- include: is_unfinished
    )
ORDER BY orders.id
LIMIT ?limit
FOR UPDATE

-- name: unerased
-- The orders that match a condition and have personal data, and whether that cannot be erased yet.
WITH
-- include: found
SELECT
    found.id,
    -- include: is_unfinished
    AS unfinished
FROM found
WHERE found.erased_at IS NULL AND found.created_at <= ?until::timestamptz

-- name: bodies_of_orders
-- The events of orders, and those with the results of calls to their aggregators.
SELECT id, event_type, body
FROM events
WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
UNION ALL
SELECT event.id, event.event_type, event.body
FROM calls
JOIN events event
    ON event.business_id = calls.business_id
    AND event.reference = calls.id::text
    AND event.reference <> ''
    AND event.order_id IS NULL
WHERE calls.business_id = ?business AND calls.order_id = ANY (?orders::bigint[])

-- name: replace_bodies
-- Replaces the bodies of events.
UPDATE events
SET body = scrubbed.body
FROM unnest(?ids::uuid[], ?bodies::bytea[]) AS scrubbed (id, body)
WHERE events.id = scrubbed.id AND events.business_id = ?business

-- name: replace_payloads
-- Replaces the payloads of calls, and removes what the aggregators responded.
UPDATE calls
SET
    payload = scrubbed.payload,
    message = '',
    result = ''
FROM unnest(?ids::uuid[], ?payloads::text[]) AS scrubbed (id, payload)
WHERE calls.business_id = ?business AND calls.id = scrubbed.id

-- name: erase_orders
-- Erases what is stored beside the events and calls of orders.
WITH
states AS (
    UPDATE order_states
    SET message = ''
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
),
riders AS (
    UPDATE rider_statuses
    SET
        rider_name = '',
        rider_phone = ''
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
),
-- The latest locations of the rider.
locations AS (
    DELETE FROM call_queue
    WHERE business_id = ?business
        AND order_id = ANY (?orders::bigint[])
        AND kind = 'rider_location'
        AND owner IS NULL
),
-- Coupons, which may name a person.
repeats AS (
    DELETE FROM order_repeats
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[]) AND differences LIKE '%coupon: %'
),
-- Responses of webhooks.
attempted AS (
    UPDATE attempts
    SET
        response_headers = '{}',
        response_body = '',
        error = ''
    WHERE business_id = ?business AND delivery_id = ANY (?deliveries::uuid[])
),
-- Requests to aggregators, and their responses.
called AS (
    UPDATE call_attempts
    SET
        url = split_part(url, '\?', 1),
        request_headers = '{}',
        request_body = '',
        response_headers = '{}',
        response_body = '',
        error = ''
    WHERE business_id = ?business AND order_id <> 0 AND order_id = ANY (?orders::bigint[])
),
named AS (
    SELECT platform, platform_order_id
    FROM orders
    WHERE business_id = ?business AND id = ANY (?orders::bigint[])
),
cancelled AS (
    DELETE FROM pending_cancellations
    WHERE business_id = ?business AND (platform, platform_order_id) IN (SELECT platform, platform_order_id FROM named)
),
rejected AS (
    UPDATE rejected_orders
    SET reason = ?instead
    WHERE business_id = ?business AND (platform, platform_order_id) IN (SELECT platform, platform_order_id FROM named)
),
-- Reasons of users. The entries about the erasure itself remain.
trail AS (
    UPDATE audit
    SET detail = '{"erased": true}'
    WHERE business_id = ?business AND object = ANY (?objects::text[]) AND action NOT LIKE 'customer.%'
),
faults AS (
    UPDATE plugin_faults
    SET
        text = '',
        stack = ''
    WHERE business_id = ?business AND split_part(about, ',', 1) = ANY (?abouts::text[])
),
set_aside AS (
    UPDATE plugin_set_aside
    SET fault = ''
    WHERE business_id = ?business AND split_part(about, ',', 1) = ANY (?abouts::text[])
)
UPDATE orders
SET
    customer_hashes = '{}',
    erased_at = ?now
WHERE business_id = ?business AND id = ANY (?orders::bigint[])

-- name: erase_mentions
-- Erases texts of small tables that quote a customer.
WITH
-- Texts that identify a customer. Only contacts identify one person among all businesses.
mention AS (
    SELECT text, contact
    FROM unnest(?mentions::text[], ?contacts::boolean[]) AS mention (text, contact)
),
rejected AS (
    UPDATE rejected_orders
    SET reason = ?instead
    WHERE business_id = ?business AND EXISTS (SELECT FROM mention WHERE position(mention.text IN lower(reason)) > 0)
),
-- Faults of business 0 are of none, or of several.
faults AS (
    UPDATE plugin_faults
    SET
        text = ?instead,
        stack = '',
        about = ''
    WHERE business_id IN (0, ?business)
        AND EXISTS (
            SELECT
            FROM mention
            WHERE (contact OR plugin_faults.business_id <> 0)
                AND position(mention.text IN lower(plugin_faults.text || stack || about)) > 0
        )
),
set_aside AS (
    UPDATE plugin_set_aside
    SET
        fault = ?instead,
        about = ''
    WHERE business_id IN (0, ?business)
        AND EXISTS (
            SELECT
            FROM mention
            WHERE (contact OR plugin_set_aside.business_id <> 0)
                AND position(mention.text IN lower(fault || about)) > 0
        )
),
-- Reasons that users gave about problems.
reasons AS (
    UPDATE audit
    SET detail = '{"erased": true}'
    WHERE business_id = ?business
        AND object >= 'problem/'
        AND object < 'problem0'
        AND EXISTS (SELECT FROM mention WHERE position(mention.text IN lower(detail::text)) > 0)
),
-- Filters are in the form of a URL.
views AS (
    UPDATE saved_views
    SET filters = ''
    WHERE business_id = ?business AND EXISTS (SELECT FROM mention WHERE position(mention.text IN lower(filters)) > 0)
)
UPDATE problems
SET note = ''
WHERE business_id = ?business AND EXISTS (SELECT FROM mention WHERE position(mention.text IN lower(note)) > 0)
