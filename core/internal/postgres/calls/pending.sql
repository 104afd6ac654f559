-- name: read_pending
-- A call whose outcome an aggregator reports, and whether a later call of its order exists.
SELECT
    kind,
    platform,
    ordering_key,
    order_id,
    payload,
    attempts,
    state = 'pending',
    EXISTS (
        SELECT 1
        FROM calls later
        WHERE later.business_id = ?business
            AND later.order_id = calls.order_id
            AND later.ordering_key = calls.ordering_key
            AND later.sequence > calls.sequence
    )
FROM calls
WHERE business_id = ?business AND id = ?id
FOR UPDATE

-- name: settle
UPDATE calls
SET state = ?state, message = ?message, result = ?result, finished_at = ?now, outcome_deadline = NULL
WHERE calls.business_id = ?business AND calls.id = ?id AND calls.state = 'pending'
RETURNING ?ended

-- name: send_again
-- Lets a pending call wait again.
UPDATE calls
SET state = 'waiting', message = '', retried_at = ?now, finished_at = NULL, outcome_deadline = NULL
WHERE business_id = ?business AND id = ?id AND state = 'pending'

-- name: delay_again
-- Delays a call that was queued again, unless another call of its ordering key is due.
UPDATE call_queue
SET attempts = ?attempts, note = ?note, due_at = ?retry_at, available_at = ?retry_at
WHERE business_id = ?business AND ordering_key = ?ordering_key AND call_id = ?id AND owner IS NULL

-- name: overdue
-- Fails calls whose outcome is overdue.
UPDATE calls
SET
    state = 'failed',
    message = 'the aggregator accepted the request, but did not report its outcome by '
        || to_char(expired.outcome_deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    finished_at = ?now,
    outcome_deadline = NULL
FROM (
    SELECT business_id, id, outcome_deadline
    FROM calls
    WHERE state = 'pending' AND outcome_deadline <= ?now
    ORDER BY outcome_deadline
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
) expired
WHERE calls.business_id = expired.business_id AND calls.id = expired.id
RETURNING ?ended
