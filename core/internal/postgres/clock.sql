-- The due times after a time, moved because the clock of the database was set. The factor is 1 for these, 0 for others.

-- name: move_deliveries
UPDATE delivery_queue
SET
    due_at = due_at + (due_at > ?from)::int * ?microseconds * interval '1 microsecond',
    available_at = available_at + (available_at > ?from)::int * ?microseconds * interval '1 microsecond'
WHERE due_at > ?from OR available_at > ?from

-- name: move_calls
UPDATE call_queue
SET
    due_at = due_at + (due_at > ?from)::int * ?microseconds * interval '1 microsecond',
    available_at = available_at + (available_at > ?from)::int * ?microseconds * interval '1 microsecond',
    received_at = received_at + (received_at > ?from)::int * ?microseconds * interval '1 microsecond'
WHERE (kind = 'poll') = ?late AND (due_at > ?from OR available_at > ?from OR received_at > ?from)

-- name: move_publications
UPDATE publications
SET
    due_at = due_at + (due_at > ?from)::int * ?microseconds * interval '1 microsecond',
    available_at = available_at + (available_at > ?from)::int * ?microseconds * interval '1 microsecond',
    first_marked_at = first_marked_at + (first_marked_at > ?from)::int * ?microseconds * interval '1 microsecond',
    sent_deadline = sent_deadline + (sent_deadline > ?from)::int * ?microseconds * interval '1 microsecond'
WHERE (sent_deadline IS NOT NULL) = ?late
    AND (
        due_at > ?from
        OR available_at > ?from AND available_at < 'infinity'
        OR first_marked_at > ?from
        OR sent_deadline > ?from
    )

-- name: move_outcomes
UPDATE calls
SET outcome_deadline = outcome_deadline + ?microseconds * interval '1 microsecond'
WHERE state = 'pending' AND outcome_deadline > ?from

-- name: move_tasks
UPDATE outcome_tasks
SET expires_at = expires_at + ?microseconds * interval '1 microsecond'
WHERE expires_at > ?from

-- name: move_jobs
UPDATE job_queue
SET available_at = available_at + ?microseconds * interval '1 microsecond'
WHERE available_at > ?from

-- name: move_probes
UPDATE endpoint_circuits
SET next_probe = next_probe + ?microseconds * interval '1 microsecond'
WHERE next_probe > ?from

-- The clock's epoch. A replica that follows the clock records the time that it reads.
-- name: read_clock
UPDATE clock_epoch SET read_at = CASE WHEN ?follows THEN ?now::timestamptz ELSE read_at END
RETURNING epoch

-- Counts that the clock was set, and notifies the replicas. Rate limits start from zero.
-- name: count_step
NOTIFY servery_clock, 'set';
UPDATE clock_epoch SET epoch = epoch + 1, read_at = NULL;
DELETE FROM throttles
