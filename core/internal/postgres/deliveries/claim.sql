-- name: may_lease
-- The condition that a row is due, or a retry that is due soon.
available_at <= ?soon AND (available_at <= ?now OR owner IS NULL AND attempts > prior_attempts)

-- name: may_share
-- The condition that an endpoint may get a share: it has capacity, and no open circuit.
found.endpoint <> ALL (?busy)
AND NOT EXISTS (
    SELECT 1
    FROM endpoint_circuits circuit
    WHERE circuit.endpoint = found.endpoint AND circuit.probing_since IS NOT NULL
)

-- name: claim
-- prepare: upper part, lower part, now timestamptz, soon timestamptz, epoch bigint, busy bigint[], deliveries integer
-- prepare: owner uuid, until timestamptz, bodies bigint, large integer, largest integer, known bigint[]
-- prepare: capacity integer[], first_capacity integer, from bigint
-- Leases due deliveries, and retries that are due soon (Store.Claim).
WITH RECURSIVE
-- The earliest due deliveries, as many as are wanted.
early AS MATERIALIZED (
    SELECT endpoint, size
    FROM delivery_queue
    WHERE
    -- include: may_lease
    ORDER BY available_at
    LIMIT ?deliveries
),
-- Whether these show all endpoints that may get a share. If not, more are due, and few of these may start.
searched AS MATERIALIZED (
    SELECT count(*) = ?deliveries
        AND count(DISTINCT endpoint) FILTER (
            WHERE size <= ?largest
                AND
                -- include: may_share
        ) <= ?deliveries / 4 AS needed
    FROM early AS found
),
-- In that case, the endpoints with queued deliveries and their earliest times: one index step each.
upper_endpoints AS (
    ?upper
),
lower_endpoints AS (
    ?lower
),
-- The endpoints with an open circuit whose next probe is due. Many may be due at once: half of a claim is for others.
probes AS MATERIALIZED (
    SELECT waiting.endpoint
    FROM endpoint_circuits waiting
    WHERE ?epoch IN (0, (SELECT epoch FROM clock_epoch))
        AND waiting.probing_since IS NOT NULL
        AND waiting.next_probe <= ?now
        AND waiting.endpoint <> ALL (?busy)
        -- Looked up for each circuit: few are open, and the queue may be long.
        AND (
            SELECT true
            FROM delivery_queue
            WHERE endpoint = waiting.endpoint
                AND available_at <= ?now
                AND NOT manual
                AND size <= ?largest
            ORDER BY available_at
            LIMIT 1
        )
    ORDER BY waiting.next_probe
    LIMIT greatest(1, ?deliveries / 2)
    FOR UPDATE SKIP LOCKED
),
-- The endpoints that get a share, each with its longest waiting delivery. A search ends once they fill a claim.
others AS (
    SELECT found.endpoint, head.available_at
    FROM (
        SELECT endpoint FROM upper_endpoints WHERE available_at <= ?soon
        UNION ALL
        SELECT endpoint FROM lower_endpoints WHERE available_at <= ?soon
        UNION ALL
        SELECT DISTINCT endpoint FROM early WHERE NOT (SELECT needed FROM searched)
    ) found
    CROSS JOIN LATERAL (
        SELECT available_at
        FROM delivery_queue
        WHERE endpoint = found.endpoint
            AND size <= ?largest
            AND
            -- include: may_lease
        ORDER BY available_at
        LIMIT 1
    ) head
    WHERE
    -- include: may_share
    LIMIT CASE WHEN (SELECT needed FROM searched) THEN greatest(16, ?deliveries / 2) ELSE ?deliveries END
),
-- Their capacities. Grouping takes linear time. A join of the two lists would compare each pair.
heads AS (
    SELECT endpoint, coalesce(max(capacity), nullif(?first_capacity, 0), ?deliveries) AS capacity
    FROM (
        SELECT endpoint, available_at, NULL::integer AS capacity FROM others
        UNION ALL
        SELECT endpoint, NULL, capacity FROM unnest(?known::bigint[], ?capacity::integer[]) known (endpoint, capacity)
    ) listed
    GROUP BY endpoint
    HAVING count(available_at) > 0
    ORDER BY min(available_at)
),
-- The share of each endpoint. Endpoints with less capacity leave the rest of their share to the others.
share AS (
    SELECT greatest(
        4,
        (?deliveries - coalesce(sum(capacity) FILTER (WHERE NOT long), 0)) / greatest(1, count(*) FILTER (WHERE long))
    ) AS capacity
    FROM (SELECT capacity, capacity >= ?deliveries / count(*) OVER () AS long FROM heads) limits
),
-- The rows to lease: one for each probe, those that a person requested, and the share of each endpoint.
due AS (
    SELECT probed.*, true AS probe
    FROM probes
    CROSS JOIN LATERAL (
        SELECT business_id, id, event_id, available_at, size
        FROM delivery_queue
        WHERE endpoint = probes.endpoint AND available_at <= ?now AND NOT manual AND size <= ?largest
        ORDER BY available_at
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) probed
    UNION ALL
    (
        SELECT requested.*, false
        FROM (
            SELECT business_id, id, event_id, available_at, size
            FROM delivery_queue queue
            WHERE manual
                AND available_at <= ?now
                AND size <= ?largest
                AND endpoint <> ALL (?busy)
                AND EXISTS (
                    SELECT 1
                    FROM endpoint_circuits circuit
                    WHERE circuit.endpoint = queue.endpoint AND circuit.probing_since IS NOT NULL
                )
            ORDER BY available_at
            LIMIT 16
            FOR UPDATE SKIP LOCKED
        ) requested
    )
    UNION ALL
    (
        SELECT shared.*, false
        FROM heads
        CROSS JOIN LATERAL (
            SELECT business_id, id, event_id, available_at, size
            FROM delivery_queue
            WHERE endpoint = heads.endpoint
                AND size <= ?largest
                AND
                -- include: may_lease
            ORDER BY available_at
            LIMIT least(heads.capacity, (SELECT capacity FROM share))
            FOR UPDATE SKIP LOCKED
        ) shared
        LIMIT ?deliveries
    )
),
-- The rows in order: probes first, then by due time.
ranked AS (
    SELECT *, row_number() OVER (ORDER BY NOT probe, available_at, id) AS position
    FROM due
),
-- The position of the first row of each event. Its deliveries share one body in memory.
by_event AS (
    SELECT *, min(position) OVER (PARTITION BY event_id) AS first
    FROM ranked
),
-- The bytes of the large bodies before each row.
fit AS (
    SELECT
        *,
        sum(CASE WHEN position = first AND size > ?large THEN size ELSE 0 END) OVER (ORDER BY first) - size AS before
    FROM by_event
),
leased AS (
    UPDATE delivery_queue queue
    SET owner = ?owner, lease = nextval('leases'), available_at = ?until
    FROM fit
    WHERE ?epoch IN (0, (SELECT epoch FROM clock_epoch))
        AND queue.business_id = fit.business_id
        AND queue.id = fit.id
        AND (fit.size <= ?large OR fit.before < ?bodies)
    RETURNING
        queue.business_id,
        queue.id,
        queue.event_id,
        coalesce(queue.webhook_id, 0) AS webhook_id,
        queue.url,
        queue.endpoint,
        queue.attempts,
        queue.prior_attempts,
        queue.due_at,
        queue.ordering_key,
        queue.sequence,
        queue.manual,
        queue.lease,
        fit.probe,
        fit.available_at AS start_at
),
-- The circuits that are probed now. A probe without a row stays due.
probed AS (
    UPDATE endpoint_circuits circuit
    SET next_probe = ?until
    FROM leased
    WHERE leased.probe AND circuit.endpoint = leased.endpoint AND circuit.business_id = leased.business_id
)
SELECT *
FROM leased

-- name: next_due
-- prepare: endpoints part, busy bigint[], largest integer
-- The earliest due time of a delivery or probe, and the epoch of the clock.
WITH RECURSIVE
-- The earliest deliveries.
early AS MATERIALIZED (
    SELECT endpoint, available_at, size
    FROM delivery_queue
    WHERE available_at < 'infinity'
    ORDER BY available_at
    LIMIT 64
),
-- The first of them that may start then, and whether a later one must be searched.
first AS MATERIALIZED (
    SELECT
        min(available_at) FILTER (
            WHERE size <= ?largest
                AND endpoint <> ALL (?busy)
                AND NOT EXISTS (
                    SELECT 1
                    FROM endpoint_circuits circuit
                    WHERE circuit.endpoint = early.endpoint AND circuit.probing_since IS NOT NULL
                )
        ) AS available_at,
        count(*) = 64 AS more
    FROM early
),
searched AS MATERIALIZED (
    SELECT more AND available_at IS NULL AS needed FROM first
),
-- In that case, all endpoints with queued deliveries and their earliest times: one index step each.
endpoints AS (
    ?endpoints
)
SELECT
    least(
        (SELECT available_at FROM first),
        (
            SELECT min(head.available_at)
            FROM endpoints
            CROSS JOIN LATERAL (
                SELECT available_at
                FROM delivery_queue
                WHERE endpoint = endpoints.endpoint AND available_at < 'infinity' AND size <= ?largest
                ORDER BY available_at
                LIMIT 1
            ) head
            WHERE endpoints.endpoint <> ALL (?busy)
                AND NOT EXISTS (
                    SELECT 1
                    FROM endpoint_circuits circuit
                    WHERE circuit.endpoint = endpoints.endpoint AND circuit.probing_since IS NOT NULL
                )
        ),
        (
            SELECT min(greatest(head.available_at, circuit.next_probe))
            FROM endpoint_circuits circuit
            CROSS JOIN LATERAL (
                SELECT available_at
                FROM delivery_queue
                WHERE endpoint = circuit.endpoint AND available_at < 'infinity' AND size <= ?largest
                ORDER BY available_at
                LIMIT 1
            ) head
            WHERE circuit.probing_since IS NOT NULL AND circuit.endpoint <> ALL (?busy)
        ),
        (
            SELECT min(available_at)
            FROM delivery_queue
            WHERE manual AND available_at < 'infinity' AND size <= ?largest AND endpoint <> ALL (?busy)
        )
    ),
    (SELECT epoch FROM clock_epoch)

-- name: delivered_events
-- prepare: ids uuid[], businesses bigint[]
-- The events of deliveries. Single lookups by key: without statistics a new partition would be scanned.
SELECT event.id, event.event_type, event.body, event.test, coalesce(event.trace, '') AS trace
FROM unnest(?ids::uuid[], ?businesses::bigint[]) AS wanted (id, business_id)
CROSS JOIN LATERAL (
    SELECT id, event_type, body, test, trace
    FROM events
    WHERE id = wanted.id AND business_id = wanted.business_id
    LIMIT 1
) event

-- name: receivers
-- prepare: webhook_target part, callback_target part, webhooks bigint[], businesses bigint[]
-- Webhooks, and the receivers of callback_url deliveries of businesses.
SELECT webhook.business_id, webhook.active, ?webhook_target
FROM webhooks webhook
WHERE webhook.id = ANY (?webhooks)
UNION ALL
SELECT business.id, true, ?callback_target
FROM businesses business
WHERE business.id = ANY (?businesses)

-- name: park
-- Holds claimed deliveries of switched-off webhooks.
UPDATE delivery_queue queue
SET available_at = 'infinity', owner = NULL
FROM
    (SELECT id FROM webhooks WHERE id = ANY (?webhooks) AND NOT active ORDER BY id FOR SHARE) disabled,
    ?rows AS claimed (id, business_id, endpoint, ordering_key, sequence)
WHERE queue.webhook_id = disabled.id
    AND queue.owner = ?owner
    AND queue.business_id = claimed.business_id
    AND queue.id = claimed.id

-- name: expired_held
-- Held deliveries without an event: its partition has been dropped.
SELECT queue.business_id, queue.id, queue.endpoint, queue.ordering_key, queue.sequence
FROM delivery_queue queue
WHERE queue.available_at = 'infinity'
    AND queue.owner IS NULL
    AND queue.event_id < ?before
    AND NOT EXISTS (
        SELECT 1
        FROM events event
        WHERE event.id = queue.event_id AND event.business_id = queue.business_id
    )
LIMIT ?limit

-- name: release
-- Returns leased deliveries to the queue.
UPDATE delivery_queue queue
SET available_at = due_at, owner = NULL
FROM unnest(?businesses::bigint[], ?ids::uuid[], ?leases::bigint[]) AS held (business_id, id, lease)
WHERE queue.business_id = held.business_id
    AND queue.id = held.id
    AND queue.owner = ?owner
    AND queue.lease = held.lease
