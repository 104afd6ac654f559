-- name: move_to_history
-- prepare: businesses bigint[], ids uuid[], urls text[], states text[], statuses smallint[], problems bigint[]
-- prepare: leases bigint[], owner uuid, now timestamptz
-- Moves ended deliveries from the queue to the history. A success counts without the lease.
WITH removed AS (
    DELETE FROM delivery_queue queue
    USING unnest(?businesses, ?ids, ?urls, ?states, ?statuses, ?problems, ?leases)
        AS ended (business_id, id, url, state, status, problem_id, lease)
    WHERE queue.business_id = ended.business_id
        AND queue.id = ended.id
        AND (ended.state = 'delivered' OR queue.owner = ?owner AND queue.lease = ended.lease)
    RETURNING
        queue.business_id,
        queue.id,
        queue.event_id,
        queue.event_type,
        queue.webhook_id,
        ended.url,
        ended.state,
        queue.attempts + 1 AS attempts,
        ended.status,
        nullif(ended.problem_id, 0) AS problem_id
)
INSERT INTO deliveries (
    business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at, problem_id
)
SELECT business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, ?now, problem_id
FROM removed

-- name: record_problems
-- Finds or records the problems of failed deliveries, in the order of the key. A problem that was recorded lately, by
-- the same webhooks, is only read, so that batches do not wait for each other.
WITH
-- The failed deliveries whose lease is held. The lock keeps others from claiming them before they end.
held AS MATERIALIZED (
    SELECT
        queue.business_id,
        coalesce(queue.webhook_id, 0) AS webhook_id,
        result.server,
        result.error_class,
        result.status
    FROM unnest(
        ?businesses::bigint[],
        ?ids::uuid[],
        ?servers::text[],
        ?classes::text[],
        ?statuses::smallint[],
        ?leases::bigint[]
    ) AS result (business_id, id, server, error_class, status, lease)
    JOIN delivery_queue queue
        ON queue.business_id = result.business_id
        AND queue.id = result.id
        AND queue.owner = ?owner
        AND queue.lease = result.lease
    ORDER BY queue.business_id, queue.id
    FOR UPDATE OF queue
),
failed AS MATERIALIZED (
    SELECT business_id, server, error_class, status, array_agg(DISTINCT webhook_id ORDER BY webhook_id) AS webhooks
    FROM held
    GROUP BY business_id, server, error_class, status
),
current AS MATERIALIZED (
    SELECT problem.business_id, problem.server, problem.error_class, problem.status, problem.id
    FROM failed
    JOIN problems problem USING (business_id, server, error_class, status)
    WHERE problem.state <> 'resolved' AND problem.last_seen_at > ?recent AND problem.webhooks @> failed.webhooks
),
recorded AS (
    INSERT INTO problems AS stored (
        business_id, server, error_class, status, webhooks, first_seen_at, last_seen_at
    )
    SELECT failed.business_id, failed.server, failed.error_class, failed.status, failed.webhooks, ?now, ?now
    FROM failed
    WHERE NOT EXISTS (
        SELECT
        FROM current
        WHERE current.business_id = failed.business_id
            AND current.server = failed.server
            AND current.error_class = failed.error_class
            AND current.status = failed.status
    )
    ORDER BY failed.business_id, failed.server, failed.error_class, failed.status
    ON CONFLICT (business_id, server, error_class, status) DO UPDATE
    SET
        last_seen_at = greatest(stored.last_seen_at, excluded.last_seen_at),
        webhooks = ARRAY(SELECT DISTINCT unnest(stored.webhooks || excluded.webhooks) AS webhook ORDER BY webhook),
        reopened_at = CASE WHEN stored.state = 'resolved' THEN excluded.last_seen_at ELSE stored.reopened_at END,
        state = CASE WHEN stored.state = 'resolved' THEN 'open' ELSE stored.state END
    RETURNING business_id, server, error_class, status, id
)
SELECT business_id, server, error_class, status, id
FROM current
UNION ALL
SELECT business_id, server, error_class, status, id
FROM recorded

-- name: set_retries
-- Schedules the next attempts. The number of the lease keeps a repeated result from ending the next one.
UPDATE delivery_queue queue
SET
    attempts = queue.attempts + 1,
    due_at = retry.due_at,
    available_at = retry.due_at,
    owner = NULL,
    manual = false
FROM unnest(?businesses::bigint[], ?ids::uuid[], ?due::timestamptz[], ?leases::bigint[])
    AS retry (business_id, id, due_at, lease)
WHERE queue.business_id = retry.business_id
    AND queue.id = retry.id
    AND queue.owner = ?owner
    AND queue.lease = retry.lease

-- name: lock_circuits
-- prepare: endpoints bigint[]
SELECT business_id, endpoint, failures, since, status, error, probing_since, next_probe, pause_ms
FROM endpoint_circuits
WHERE endpoint = ANY (?endpoints)
ORDER BY endpoint
FOR UPDATE

-- name: update_circuits
UPDATE endpoint_circuits circuit
SET
    failures = result.failures,
    since = result.since::timestamptz,
    at = ?now,
    status = result.status,
    error = result.error,
    probing_since = nullif(result.probing, '')::timestamptz,
    next_probe = nullif(result.next, '')::timestamptz,
    pause_ms = result.pause
FROM unnest(
    ?endpoints::bigint[],
    ?failures::integer[],
    ?statuses::smallint[],
    ?pauses::integer[],
    ?errors::text[],
    ?since::text[],
    ?probing::text[],
    ?next::text[]
) AS result (endpoint, failures, status, pause, error, since, probing, next)
WHERE circuit.endpoint = result.endpoint
