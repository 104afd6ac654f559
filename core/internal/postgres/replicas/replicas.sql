-- name: list
-- The replicas, and whether the lock of each is held. The key of a lock is in two halves in pg_locks. The statement
-- runs about once a second, so it also looks now and then whether the queues are empty.
SELECT
    replicas.owner,
    replicas.session_key,
    replicas.ended_at IS NOT NULL AS ended,
    pg_locks.pid IS NOT NULL AS locked,
    ?queues AND EXISTS (SELECT 1 FROM job_queue) AS jobs,
    ?queues AND EXISTS (SELECT 1 FROM call_queue WHERE available_at < 'infinity') AS calls,
    ?queues AND EXISTS (SELECT 1 FROM publications WHERE available_at < 'infinity') AS publications,
    ?queues AND EXISTS (SELECT 1 FROM delivery_queue) AS deliveries
FROM replicas
LEFT JOIN pg_locks
    ON pg_locks.locktype = 'advisory'
    AND pg_locks.granted
    AND pg_locks.objsubid = 1
    AND pg_locks.classid::bigint = replicas.session_key >> 32
    AND pg_locks.objid::bigint = replicas.session_key & 4294967295
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: end_deliveries
-- Ends the leases of an owner, except those of held items. The due times keep the order. Locked rows are skipped: the
-- server may still run a transaction of the owner. A probe that was leased is due. Only rows that became available not
-- long ago, or do so soon, are read: those of a long backlog are not leased.
WITH
leased AS (
    SELECT business_id, id
    FROM delivery_queue
    WHERE owner = ?owner
        AND available_at > ?earliest
        AND available_at <= ?latest
        AND id <> ALL (?held::uuid[])
    FOR UPDATE SKIP LOCKED
),
ended AS (
    UPDATE delivery_queue queue
    SET owner = NULL, available_at = queue.due_at
    FROM leased
    WHERE queue.business_id = leased.business_id AND queue.id = leased.id
    RETURNING queue.endpoint
),
circuits AS (
    SELECT business_id, endpoint
    FROM endpoint_circuits
    WHERE probing_since IS NOT NULL AND endpoint IN (SELECT endpoint FROM ended)
    FOR UPDATE SKIP LOCKED
),
probes AS (
    UPDATE endpoint_circuits circuit
    SET next_probe = least(circuit.next_probe, ?now)
    FROM circuits
    WHERE circuit.business_id = circuits.business_id AND circuit.endpoint = circuits.endpoint
)
SELECT count(*) FROM ended

-- name: end_calls
WITH
leased AS (
    SELECT business_id, ordering_key
    FROM call_queue
    WHERE owner = ?owner AND business_id || '/' || ordering_key <> ALL (?held::text[])
    FOR UPDATE SKIP LOCKED
),
ended AS (
    UPDATE call_queue queue
    SET owner = NULL, available_at = queue.due_at
    FROM leased
    WHERE queue.business_id = leased.business_id AND queue.ordering_key = leased.ordering_key
    RETURNING 1
)
SELECT count(*) FROM ended

-- name: end_jobs
WITH
leased AS (
    SELECT business_id, ordering_key, seq
    FROM job_queue
    WHERE owner = ?owner AND job_id <> ALL (?held::uuid[])
    FOR UPDATE SKIP LOCKED
),
ended AS (
    UPDATE job_queue queue
    SET owner = NULL, available_at = least(queue.available_at, ?now)
    FROM leased
    WHERE (queue.business_id, queue.ordering_key, queue.seq) = (leased.business_id, leased.ordering_key, leased.seq)
    RETURNING 1
)
SELECT count(*) FROM ended

-- name: end_publications
-- The menu on the platform is unknown, as after a lease that expired.
WITH
leased AS (
    SELECT business_id, store_id, platform
    FROM publications
    WHERE owner = ?owner AND business_id || '/' || store_id || '/' || platform <> ALL (?held::text[])
    FOR UPDATE SKIP LOCKED
),
ended AS (
    UPDATE publications publication
    SET
        owner = NULL,
        available_at = publication.due_at,
        digest = NULL,
        sent_menu = (publication.sent_menu::jsonb - 'digest')::text
    FROM leased
    WHERE publication.business_id = leased.business_id
        AND publication.store_id = leased.store_id
        AND publication.platform = leased.platform
    RETURNING 1
)
SELECT count(*) FROM ended

-- name: has_leases
SELECT
    EXISTS (
        SELECT 1
        FROM delivery_queue
        WHERE owner = ?owner
            AND available_at > ?earliest
            AND available_at <= ?latest
    )
    OR EXISTS (SELECT 1 FROM call_queue WHERE owner = ?owner)
    OR EXISTS (SELECT 1 FROM job_queue WHERE owner = ?owner)
    OR EXISTS (SELECT 1 FROM publications WHERE owner = ?owner)
