-- name: queue_ordering_keys
-- Adds the ordering keys of calls to the queue. An ordering key that is queued gets a new version.
INSERT INTO call_queue AS queued (
    business_id, ordering_key, kind, platform, order_id, endpoint, call_id, received_at, due_at, available_at
)
SELECT DISTINCT ON (business, ordering_key)
    business,
    ordering_key,
    kind,
    platform,
    order_id,
    endpoint,
    id,
    ?now::timestamptz,
    ?now::timestamptz,
    ?now::timestamptz
FROM unnest(
    ?businesses::bigint[],
    ?ordering_keys::text[],
    ?kinds::text[],
    ?platforms::text[],
    ?orders::bigint[],
    ?endpoints::bigint[],
    ?ids::uuid[]
) AS call (business, ordering_key, kind, platform, order_id, endpoint, id)
ORDER BY business, ordering_key
ON CONFLICT (business_id, ordering_key) DO UPDATE
SET version = queued.version + 1, received_at = excluded.received_at

-- name: insert_calls
-- Stores calls in the given order, which numbers them. The list of digests may be shorter.
INSERT INTO calls (
    business_id, id, ordering_key, kind, platform, order_id, payload, actor, state, created_at, trace, request_digest
)
SELECT
    business,
    id,
    ordering_key,
    kind,
    platform,
    order_id,
    payload,
    actor,
    'waiting',
    ?now,
    nullif(trace, ''),
    digest
FROM unnest(
    ?businesses::bigint[],
    ?ids::uuid[],
    ?ordering_keys::text[],
    ?kinds::text[],
    ?platforms::text[],
    ?orders::bigint[],
    ?payloads::text[],
    ?actors::text[],
    ?traces::text[],
    ?digests::bytea[]
) WITH ORDINALITY AS call (business, id, ordering_key, kind, platform, order_id, payload, actor, trace, digest, n)
ORDER BY n

-- name: queued_row
-- Joins the row queued to a waiting row call. The queue describes only the first waiting call of an ordering key, so
-- the note of the others is empty.
LEFT JOIN LATERAL (
    SELECT
        CASE WHEN earlier.waits THEN '' ELSE queue.note END AS note,
        queue.attempts,
        queue.due_at,
        earlier.waits AS earlier_waits
    FROM call_queue queue
    CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT
            FROM calls before
            WHERE before.business_id = call.business_id
                AND before.ordering_key = call.ordering_key
                AND before.sequence < call.sequence
                AND before.state = 'waiting'
        ) AS waits
    ) earlier
    WHERE call.state = 'waiting'
        AND queue.business_id = call.business_id
        AND queue.ordering_key = call.ordering_key
) queued ON true
