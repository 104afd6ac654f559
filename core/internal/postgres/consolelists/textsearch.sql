-- name: texts_of_deliveries
-- The payloads of deliveries, and the responses and errors of their attempts. Single lookups keep a new partition,
-- which has no statistics, from being scanned.
SELECT delivery.id, event.body, true, ''
FROM unnest(?ids::uuid[], ?events::uuid[]) AS delivery (id, event_id)
CROSS JOIN LATERAL (
    SELECT body
    FROM events
    WHERE events.id = delivery.event_id AND events.business_id = ?business
    LIMIT 1
) event
UNION ALL
SELECT delivery_id, response_body, false, error
FROM attempts
WHERE business_id = ?business AND delivery_id = ANY (?ids::uuid[]) AND (response_body <> '' OR error <> '')

-- name: texts_of_events
-- The payloads of events.
SELECT wanted.id, event.body, true, ''
FROM unnest(?events::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT body
    FROM events
    WHERE events.id = wanted.id AND events.business_id = ?business
    LIMIT 1
) event

-- name: texts_of_jobs
-- The requests of jobs, and their results and errors.
SELECT id, body, true, coalesce(result::text, '') || ' ' || error
FROM jobs
WHERE business_id = ?business AND id = ANY (?ids::uuid[])

-- name: texts_of_calls
-- The payloads, results and messages of calls, and the bodies and errors of their attempts.
SELECT id, convert_to(payload, 'UTF8'), false, result || ' ' || message
FROM calls
WHERE business_id = ?business AND id = ANY (?ids::uuid[])
UNION ALL
SELECT call_id, request_body || ' '::bytea || response_body, false, error
FROM call_attempts
WHERE business_id = ?business AND call_id = ANY (?ids::uuid[])
