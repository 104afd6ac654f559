-- The due times after a time, moved because the clock of the database was set.

-- name: move_deliveries
UPDATE delivery_queue
SET
    due_at = CASE
        WHEN due_at > ?from THEN due_at + ?microseconds * interval '1 microsecond'
        ELSE due_at
    END,
    available_at = CASE
        WHEN available_at > ?from THEN available_at + ?microseconds * interval '1 microsecond'
        ELSE available_at
    END
WHERE due_at > ?from OR available_at > ?from

-- name: move_calls
UPDATE call_queue
SET
    due_at = CASE
        WHEN due_at > ?from THEN due_at + ?microseconds * interval '1 microsecond'
        ELSE due_at
    END,
    available_at = CASE
        WHEN available_at > ?from THEN available_at + ?microseconds * interval '1 microsecond'
        ELSE available_at
    END,
    received_at = CASE
        WHEN received_at > ?from THEN received_at + ?microseconds * interval '1 microsecond'
        ELSE received_at
    END
WHERE due_at > ?from OR available_at > ?from OR received_at > ?from

-- name: move_publications
UPDATE publications
SET
    due_at = CASE
        WHEN due_at > ?from THEN due_at + ?microseconds * interval '1 microsecond'
        ELSE due_at
    END,
    available_at = CASE
        WHEN available_at > ?from THEN available_at + ?microseconds * interval '1 microsecond'
        ELSE available_at
    END,
    first_marked_at = CASE
        WHEN first_marked_at > ?from THEN first_marked_at + ?microseconds * interval '1 microsecond'
        ELSE first_marked_at
    END,
    sent_deadline = CASE
        WHEN sent_deadline > ?from THEN sent_deadline + ?microseconds * interval '1 microsecond'
        ELSE sent_deadline
    END
WHERE due_at > ?from
    OR available_at > ?from AND available_at < 'infinity'
    OR first_marked_at > ?from
    OR sent_deadline > ?from

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
