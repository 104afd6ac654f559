-- name: claim
-- prepare: endpoints part, heads part, busy bigint[], plugins text[]
-- prepare: now timestamptz, epoch bigint, limit integer, share integer, owner uuid, until timestamptz
-- Leases due ordering keys, the longest waiting endpoints first.
WITH RECURSIVE
endpoints AS (
    ?endpoints
),
heads AS (
    ?heads
),
-- The rows to lease: a share of each endpoint.
due AS (
    SELECT shared.*
    FROM heads
    CROSS JOIN LATERAL (
        SELECT business_id, ordering_key
        FROM call_queue
        WHERE endpoint = heads.endpoint AND available_at <= ?now AND available_at < 'infinity'
        ORDER BY available_at
        LIMIT least(?share, greatest(4, ?limit / (SELECT count(*) FROM heads)))
        FOR UPDATE SKIP LOCKED
    ) shared
    LIMIT ?limit
)
UPDATE call_queue queue
SET owner = ?owner, lease = nextval('leases'), available_at = ?until
FROM due
WHERE ?epoch IN (0, (SELECT epoch FROM clock_epoch))
    AND queue.business_id = due.business_id
    AND queue.ordering_key = due.ordering_key
RETURNING
    queue.business_id,
    queue.ordering_key,
    queue.kind,
    queue.platform,
    queue.order_id,
    queue.endpoint,
    queue.payload,
    queue.call_id,
    queue.received_at,
    queue.attempts,
    queue.due_at,
    queue.version,
    queue.steps,
    queue.lease

-- name: load_calls
-- prepare: businesses bigint[], orders bigint[], ordering_keys text[], platforms text[], located boolean[]
-- The orders, plugins and first waiting calls of claimed ordering keys.
SELECT
    claimed.n,
    event.body IS NOT NULL,
    event.body,
    coalesce(orders.platform_order_id, ''),
    coalesce(orders.delivery_type, ''),
    coalesce(orders.is_bulk_order, false),
    coalesce(store.ref_id, ''),
    coalesce(platform.served_by, 'own'),
    call.id,
    coalesce(call.kind, ''),
    coalesce(call.payload, ''),
    coalesce(call.retried_at, call.created_at),
    coalesce(call.trace, ''),
    coalesce(orders.state, ''),
    CASE
        WHEN claimed.located THEN coalesce(
            (
                SELECT rider.status
                FROM rider_statuses rider
                WHERE rider.business_id = orders.business_id AND rider.order_id = orders.id
                ORDER BY rider.n DESC
                LIMIT 1
            ),
            ''
        )
        ELSE ''
    END
FROM unnest(?businesses::bigint[], ?orders::bigint[], ?ordering_keys::text[], ?platforms::text[], ?located::boolean[])
    WITH ORDINALITY AS claimed (business_id, order_id, ordering_key, platform, located, n)
LEFT JOIN orders ON orders.business_id = claimed.business_id AND orders.id = claimed.order_id
LEFT JOIN LATERAL (
    SELECT body
    FROM events
    WHERE id = coalesce(orders.updated_event, orders.placed_event) AND business_id = orders.business_id
    LIMIT 1
) event ON true
LEFT JOIN stores store ON store.business_id = orders.business_id AND store.id = orders.store_id
LEFT JOIN platforms platform ON platform.business_id = claimed.business_id AND platform.name = claimed.platform
LEFT JOIN LATERAL (
    SELECT id, kind, payload, created_at, retried_at, trace
    FROM calls
    WHERE business_id = claimed.business_id AND ordering_key = claimed.ordering_key AND state = 'waiting'
    ORDER BY sequence
    LIMIT 1
) call ON true

-- name: ended
-- The columns of an ended call.
calls.business_id,
calls.id,
calls.kind,
calls.platform,
?sent_name,
calls.order_id,
calls.payload,
calls.state,
calls.message,
calls.result,
coalesce(calls.trace, '')

-- name: end_calls
-- Ends calls, each at most once.
UPDATE calls
SET
    state = result.state,
    message = result.message,
    result = result.result,
    attempts = result.attempts,
    finished_at = result.at,
    outcome_deadline = nullif(result.deadline, '')::timestamptz
FROM unnest(
    ?businesses::bigint[],
    ?ids::uuid[],
    ?states::text[],
    ?messages::text[],
    ?results::text[],
    ?attempts::smallint[],
    ?at::timestamptz[],
    ?deadlines::text[]
) AS result (business_id, id, state, message, result, attempts, at, deadline)
WHERE calls.business_id = result.business_id AND calls.id = result.id AND calls.state = 'waiting'
RETURNING ?ended

-- name: advance
-- Schedules ordering keys after their calls. A lease that ended may be held again, even by the same owner.
WITH
result AS (
    SELECT *
    FROM unnest(
        ?businesses::bigint[],
        ?ordering_keys::text[],
        ?versions::bigint[],
        ?attempts::smallint[],
        ?retry::boolean[],
        ?due::timestamptz[],
        ?notes::text[],
        ?location_states::text[],
        ?sent::text[],
        ?leases::bigint[]
    ) AS result (business_id, ordering_key, version, attempts, retry, due, note, location_state, sent, lease)
),
-- The ordering keys without a waiting call leave the queue. A rider location stays: it has no other record.
removed AS (
    DELETE FROM call_queue queue
    USING result
    WHERE queue.business_id = result.business_id
        AND queue.ordering_key = result.ordering_key
        AND queue.owner = ?owner
        AND queue.lease = result.lease
        AND NOT result.retry
        AND queue.kind <> ?location
        AND NOT EXISTS (
            SELECT 1
            FROM calls
            WHERE calls.business_id = result.business_id
                AND calls.ordering_key = result.ordering_key
                AND calls.state = 'waiting'
        )
    RETURNING queue.business_id, queue.ordering_key
)
UPDATE call_queue queue
SET
    owner = NULL,
    attempts = result.attempts,
    due_at = result.due,
    note = result.note,
    steps = CASE WHEN result.retry THEN queue.steps END,
    location_state = result.location_state,
    location_sent_at = coalesce(nullif(result.sent, '')::timestamptz, queue.location_sent_at),
    available_at = CASE
        WHEN queue.kind = ?location AND NOT result.retry AND queue.version = result.version THEN 'infinity'
        ELSE result.due
    END
FROM result
WHERE queue.business_id = result.business_id
    AND queue.ordering_key = result.ordering_key
    AND queue.owner = ?owner
    AND queue.lease = result.lease
    AND NOT EXISTS (
        SELECT 1
        FROM removed
        WHERE removed.business_id = result.business_id AND removed.ordering_key = result.ordering_key
    )

-- name: save_steps
-- Stores the completed steps of the first call of a leased ordering key.
UPDATE call_queue
SET steps = ?sealed
WHERE business_id = ?business
    AND ordering_key = ?ordering_key
    AND owner = ?owner
    AND lease = ?lease

-- name: release
-- Returns leased ordering keys to the queue, locked in key order.
UPDATE call_queue queue
SET owner = NULL, available_at = queue.due_at
FROM (
    SELECT business_id, ordering_key
    FROM call_queue
    WHERE owner = ?owner
        AND (business_id, ordering_key, lease) IN (
            SELECT * FROM unnest(?businesses::bigint[], ?ordering_keys::text[], ?leases::bigint[])
        )
    ORDER BY business_id, ordering_key
    FOR UPDATE
) leased
WHERE queue.business_id = leased.business_id AND queue.ordering_key = leased.ordering_key

-- name: needs_no_rejection
-- Whether a rejection of an order is waiting, or the order is stored: then this is a repeat of it.
SELECT
    EXISTS (
        SELECT 1
        FROM calls
        WHERE business_id = ?business AND ordering_key = ?ordering_key AND state = 'waiting'
    )
    OR EXISTS (
        SELECT 1
        FROM orders
        WHERE business_id = ?business AND platform = ?platform AND platform_order_id = ?ref
    )

-- name: accepted_since
-- The positions of rejected orders that are stored.
SELECT rejected.n
FROM unnest(?businesses::bigint[], ?platforms::text[], ?refs::text[])
    WITH ORDINALITY AS rejected (business_id, platform, platform_order_id, n)
JOIN orders
    ON orders.business_id = rejected.business_id
    AND orders.platform = rejected.platform
    AND orders.platform_order_id = rejected.platform_order_id
