-- name: is_before
-- The condition that the row "later" waits for the row "earlier" of the queue: an earlier row of the same order
-- that may still start. It goes to the same endpoint, or to another endpoint of the same server that is switched
-- on and whose circuit is closed.
earlier.business_id = later.business_id
AND earlier.line = later.line
AND earlier.line <> 0
AND earlier.place < later.place
AND (earlier.available_at < 'infinity' OR earlier.waits)
AND (
    earlier.endpoint = later.endpoint
    OR EXISTS (
        SELECT 1
        FROM webhooks earlier_webhook
        JOIN webhooks later_webhook ON later_webhook.server = earlier_webhook.server
        WHERE earlier_webhook.business_id = earlier.business_id
            AND earlier_webhook.id = earlier.endpoint
            AND earlier_webhook.active
            AND later_webhook.business_id = later.business_id
            AND later_webhook.id = later.endpoint
            AND NOT EXISTS (
                SELECT 1
                FROM unwell_endpoints circuit
                WHERE circuit.endpoint = earlier.endpoint
                    AND circuit.business_id = earlier.business_id
                    AND circuit.probing_since IS NOT NULL
            )
    )
)

-- name: blocked
-- Those of the rows that wait for an earlier row.
SELECT later.*
FROM ?rows AS later (id, business_id, endpoint, line, place)
WHERE EXISTS (SELECT 1 FROM delivery_queue earlier WHERE ?is_before)

-- name: block
-- Makes claimed rows wait for their earlier rows. A row whose earlier row is just leaving is postponed instead.
WITH
-- The rows that wait for a row that is certain to leave later: its lock is available.
sure AS MATERIALIZED (
    SELECT later.id
    FROM ?rows AS later (id, business_id, endpoint, line, place)
    JOIN delivery_queue earlier ON ?is_before
    FOR SHARE OF earlier SKIP LOCKED
)
UPDATE delivery_queue queue
SET
    owner = NULL,
    waits = blocked.sure,
    available_at = CASE WHEN blocked.sure THEN 'infinity' ELSE ?later::timestamptz END
FROM (
    SELECT later.business_id, later.id, later.id IN (SELECT id FROM sure) AS sure
    FROM ?rows AS later (id, business_id, endpoint, line, place)
    WHERE EXISTS (SELECT 1 FROM delivery_queue earlier WHERE ?is_before)
) blocked
WHERE queue.business_id = blocked.business_id AND queue.id = blocked.id AND queue.owner = ?owner
RETURNING queue.id

-- name: lines_of
-- The ordering keys of rows.
SELECT DISTINCT business_id, line
FROM ?rows AS gone (id, business_id, endpoint, line, place)

-- name: unblocked_lines
-- The ordering keys with rows that wait for nothing any more.
SELECT DISTINCT later.business_id, later.line
FROM delivery_queue later
WHERE later.line <> 0
    AND later.waits
    AND NOT EXISTS (SELECT 1 FROM delivery_queue earlier WHERE ?is_before)

-- name: blocked_in_lines
-- Locks the waiting rows of ordering keys, sorted, so that concurrent calls do not deadlock.
SELECT waiting.business_id, waiting.id, waiting.endpoint, waiting.line, waiting.place
FROM delivery_queue waiting
JOIN (?lines) lines ON waiting.business_id = lines.business_id AND waiting.line = lines.line
WHERE waiting.line <> 0 AND waiting.waits
ORDER BY waiting.id
FOR UPDATE OF waiting

-- name: unblock
-- Releases the rows that wait for no earlier row, or for one that is just leaving.
WITH
-- The rows that wait for a row that is certain to leave later: its lock is available.
sure AS MATERIALIZED (
    SELECT later.id
    FROM ?rows AS later (id, business_id, endpoint, line, place)
    JOIN delivery_queue earlier ON ?is_before
    FOR SHARE OF earlier SKIP LOCKED
)
UPDATE delivery_queue queue
SET waits = false, available_at = greatest(queue.due_at, ?now)
FROM ?rows AS next (id, business_id, endpoint, line, place)
WHERE queue.business_id = next.business_id
    AND queue.id = next.id
    AND queue.id NOT IN (SELECT id FROM sure)
