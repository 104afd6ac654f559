-- name: enqueue
-- Stores a job and its row in the queue.
WITH stored_job AS (
    INSERT INTO jobs (
        business_id, id, kind, subject, state, body, callback_url, request_id, created_at, dry_run, trace, actor
    )
    VALUES (
        ?business,
        ?id,
        ?kind,
        ?subject,
        'queued',
        ?body,
        ?callback_url,
        ?request,
        ?created_at,
        ?dry_run,
        nullif(?trace, ''),
        ?actor
    )
)
INSERT INTO job_queue (business_id, ordering_key, job_id, available_at)
VALUES (?business, ?ordering_key, ?id, ?created_at)

-- name: heads
-- The first job of each business and ordering key (core.Job.OrderingKey): one index step each, however long the queue.
-- Only these are run.
WITH RECURSIVE first_jobs AS (
    (
        SELECT business_id, ordering_key, seq, available_at, owner
        FROM job_queue
        ORDER BY business_id, ordering_key, seq
        LIMIT 1
    )
    UNION ALL
    SELECT next.*
    FROM first_jobs
    CROSS JOIN LATERAL (
        SELECT queue.business_id, queue.ordering_key, queue.seq, queue.available_at, queue.owner
        FROM job_queue queue
        WHERE (queue.business_id, queue.ordering_key) > (first_jobs.business_id, first_jobs.ordering_key)
        ORDER BY queue.business_id, queue.ordering_key, queue.seq
        LIMIT 1
    ) next
)
SELECT *
FROM first_jobs

-- name: claim
-- prepare: heads part, now timestamptz, epoch bigint, limit integer, owner uuid, until timestamptz, large integer
-- prepare: head integer
-- Leases due jobs. The condition on available_at appears twice, because PostgreSQL checks that of the queue again
-- after it has waited for a concurrent claim.
WITH
heads AS (
    ?heads
),
-- The number of each among those of its business, the leased ones first.
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY business_id ORDER BY owner IS NULL, available_at) AS number
    FROM heads
),
-- The rows to lease: those of businesses with the fewest running jobs, and of these the longest due.
due AS (
    SELECT queue.business_id, queue.ordering_key, queue.seq
    FROM job_queue queue
    JOIN numbered USING (business_id, ordering_key, seq)
    WHERE ?epoch IN (0, (SELECT epoch FROM clock_epoch))
        AND numbered.available_at <= ?now
        AND queue.available_at <= ?now
    ORDER BY numbered.number, numbered.available_at
    LIMIT ?limit
    FOR UPDATE OF queue SKIP LOCKED
),
claimed AS (
    UPDATE job_queue queue
    SET owner = ?owner, available_at = ?until, attempts = queue.attempts + 1
    FROM due
    WHERE (queue.business_id, queue.ordering_key, queue.seq) = (due.business_id, due.ordering_key, due.seq)
    RETURNING queue.business_id, queue.job_id, queue.seq, queue.attempts
)
UPDATE jobs
SET
    state = 'running',
    error = CASE state WHEN 'queued' THEN error ELSE '' END,
    started_at = coalesce(started_at, ?now),
    attempts = claimed.attempts
FROM claimed
WHERE jobs.business_id = claimed.business_id AND jobs.id = claimed.job_id
RETURNING
    jobs.business_id,
    jobs.id,
    jobs.kind,
    jobs.subject,
    octet_length(jobs.body) AS stored,
    CASE WHEN octet_length(jobs.body) <= ?large THEN jobs.body ELSE substring(jobs.body FROM 1 FOR ?head) END AS body,
    jobs.callback_url,
    jobs.dry_run,
    jobs.created_at,
    jobs.started_at,
    claimed.attempts,
    claimed.seq,
    coalesce(jobs.trace, '') AS trace,
    jobs.error

-- name: next_due
-- prepare: heads part
-- The earliest due time of a job, and the epoch of the clock.
SELECT min(available_at), (SELECT epoch FROM clock_epoch)
FROM (?heads) heads

-- name: renew
-- Extends a lease that is still held, and records the progress. Until the handler reports one, it keeps what is stored:
-- a job that counts in several runs stores its own. Returns whether it has extended the lease.
WITH
held AS (
    SELECT business_id, ordering_key, seq
    FROM job_queue
    WHERE business_id = ?business AND ordering_key = ?ordering_key AND seq = ?seq AND owner = ?owner
    FOR UPDATE ?skip_locked
),
leased AS (
    UPDATE job_queue queue
    SET available_at = ?until
    FROM held
    WHERE queue.business_id = held.business_id
        AND queue.ordering_key = held.ordering_key
        AND queue.seq = held.seq
    RETURNING queue.job_id
),
progress AS (
    UPDATE jobs
    SET progress = ?done, total = ?total
    FROM leased
    WHERE business_id = ?business AND id = leased.job_id AND ?total > 0
)
SELECT EXISTS (SELECT 1 FROM leased)

-- name: retry
-- Returns a job to the queue. An attempt that does not count leaves the state as it is.
WITH returned AS (
    UPDATE job_queue
    SET available_at = ?at, owner = NULL, attempts = attempts - ?uncounted
    WHERE business_id = ?business AND ordering_key = ?ordering_key AND seq = ?seq AND owner = ?owner
    RETURNING job_id
)
UPDATE jobs
SET state = CASE WHEN ?uncounted = 0 THEN 'queued' ELSE state END, error = ?cause
FROM returned
WHERE business_id = ?business AND id = returned.job_id

-- name: ended
-- Those of the given jobs that have ended.
SELECT jobs.id
FROM unnest(?businesses::bigint[], ?ids::uuid[]) AS wanted (business_id, id)
JOIN jobs ON jobs.business_id = wanted.business_id AND jobs.id = wanted.id
WHERE jobs.state IN ('done', 'failed')

-- name: finish
-- Records the outcome of a job and removes it from the queue.
WITH removed AS (
    DELETE FROM job_queue
    WHERE business_id = ?business AND ordering_key = ?ordering_key AND seq = ?seq
)
UPDATE jobs
SET
    state = ?state,
    finished_at = ?now,
    error = ?error,
    result = ?result,
    event_id = ?event,
    progress = ?objects,
    total = ?objects
WHERE business_id = ?business AND id = ?id
