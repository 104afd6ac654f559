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
    AND orders.erased_at IS NULL
    AND orders.id IN (
        SELECT found.id
        FROM found
        WHERE found.erased_at IS NULL AND found.created_at <= ?until::timestamptz AND NOT
        -- include: is_unfinished
    )
ORDER BY orders.id
LIMIT ?limit
FOR UPDATE

-- name: unfinished
-- The orders that match a condition and whose personal data cannot be erased yet.
WITH
-- include: found
SELECT found.id
FROM found
WHERE found.erased_at IS NULL AND found.created_at <= ?until::timestamptz AND
-- include: is_unfinished

-- name: remaining
-- The orders that match a condition and whose personal data was not erased, for any reason.
SELECT orders.id
FROM orders
WHERE orders.business_id = ?business
    AND orders.erased_at IS NULL
    AND orders.created_at <= ?until::timestamptz ?only

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
        rider_phone = '',
        location = NULL
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
),
-- The latest location of the rider.
locations AS (
    DELETE FROM call_queue
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[]) AND owner IS NULL
        AND kind = 'rider_location'
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
revised AS (
    UPDATE order_revisions
    SET
        reason = '',
        note = ''
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
),
waiting AS (
    DELETE FROM pending_follow_ups
    WHERE business_id = ?business AND (platform, platform_order_id) IN (SELECT platform, platform_order_id FROM named)
),
followed AS (
    UPDATE order_follow_ups
    SET note = ''
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
),
rejected AS (
    UPDATE rejected_orders
    SET reason = ''
    WHERE business_id = ?business AND (platform, platform_order_id) IN (SELECT platform, platform_order_id FROM named)
),
-- Their differences have coupons.
repeated AS (
    DELETE FROM order_repeats
    WHERE business_id = ?business AND order_id = ANY (?orders::bigint[])
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
-- Erases quotes of a customer from the texts of small tables, and the audit details that have one.
WITH
rejected AS (
    UPDATE rejected_orders
    SET reason = regexp_replace(reason, ?pattern, ?instead, 'gi')
    WHERE business_id = ?business AND reason ~* ?pattern
),
faults AS (
    UPDATE plugin_faults
    SET
        text = regexp_replace(text, ?pattern, ?instead, 'gi'),
        stack = regexp_replace(stack, ?pattern, ?instead, 'gi'),
        about = regexp_replace(about, ?pattern, ?instead, 'gi')
    WHERE business_id = ?business AND (text ~* ?pattern OR stack ~* ?pattern OR about ~* ?pattern)
),
-- Business 0: none, or several. A name may be that of another customer there.
shared_faults AS (
    UPDATE plugin_faults
    SET
        text = regexp_replace(text, ?contact, ?instead, 'gi'),
        stack = regexp_replace(stack, ?contact, ?instead, 'gi'),
        about = regexp_replace(about, ?contact, ?instead, 'gi')
    WHERE business_id = 0 AND ?contact <> '' AND (text ~* ?contact OR stack ~* ?contact OR about ~* ?contact)
),
set_aside AS (
    UPDATE plugin_set_aside
    SET
        fault = regexp_replace(fault, ?pattern, ?instead, 'gi'),
        about = regexp_replace(about, ?pattern, ?instead, 'gi')
    WHERE business_id = ?business AND (fault ~* ?pattern OR about ~* ?pattern)
),
shared_aside AS (
    UPDATE plugin_set_aside
    SET
        fault = regexp_replace(fault, ?contact, ?instead, 'gi'),
        about = regexp_replace(about, ?contact, ?instead, 'gi')
    WHERE business_id = 0 AND ?contact <> '' AND (fault ~* ?contact OR about ~* ?contact)
),
-- Filters are in the form of a URL. Names of views are unique for a user.
views AS (
    UPDATE saved_views
    SET
        filters = regexp_replace(filters, ?pattern, '', 'gi'),
        name = CASE WHEN name ~* ?pattern THEN ?instead || ' ' || id ELSE name END
    WHERE business_id = ?business AND (filters ~* ?pattern OR name ~* ?pattern)
),
-- Reasons of users, also those of notes on problems and of the search for the customer.
trail AS (
    UPDATE audit
    SET detail = '{"erased": true}'
    WHERE business_id = ?business AND detail::text ~* ?pattern
)
UPDATE problems
SET note = regexp_replace(note, ?pattern, ?instead, 'gi')
WHERE business_id = ?business AND note ~* ?pattern
