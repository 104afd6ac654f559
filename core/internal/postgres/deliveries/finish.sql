-- name: move_to_history
-- prepare: businesses bigint[], ids uuid[], urls text[], states text[], statuses smallint[], owner uuid
-- prepare: now timestamptz
-- Moves ended deliveries from the queue to the history. A success counts without the lease.
WITH removed AS (
    DELETE FROM delivery_queue queue
    USING unnest(?businesses, ?ids, ?urls, ?states, ?statuses) AS ended (business_id, id, url, state, status)
    WHERE queue.business_id = ended.business_id
        AND queue.id = ended.id
        AND (ended.state = 'delivered' OR queue.owner = ?owner)
    RETURNING
        queue.business_id,
        queue.id,
        queue.event_id,
        queue.event_type,
        queue.webhook_id,
        ended.url,
        ended.state,
        queue.attempts + 1 AS attempts,
        ended.status
)
INSERT INTO deliveries (
    business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at
)
SELECT business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, ?now
FROM removed

-- name: set_retries
-- Schedules the next attempts. The number of attempts keeps a repeated result from ending the lease of the next one.
UPDATE delivery_queue queue
SET
    attempts = queue.attempts + 1,
    due_at = retry.due_at,
    available_at = retry.due_at,
    owner = NULL,
    manual = false
FROM unnest(?businesses::bigint[], ?ids::uuid[], ?due::timestamptz[], ?attempts::smallint[])
    AS retry (business_id, id, due_at, attempts)
WHERE queue.business_id = retry.business_id
    AND queue.id = retry.id
    AND queue.owner = ?owner
    AND queue.attempts = retry.attempts

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
