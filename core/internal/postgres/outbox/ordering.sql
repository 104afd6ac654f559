-- name: is_before
-- The condition that the row "later" waits for the row "earlier" of the queue: an earlier row of the same order
-- that may still start. It goes to the same endpoint, or to another endpoint of the same server that is switched
-- on and whose circuit is closed.
earlier.business_id = later.business_id
AND earlier.ordering_key = later.ordering_key
AND earlier.ordering_key <> 0
AND earlier.sequence < later.sequence
AND (earlier.available_at < 'infinity' OR earlier.blocked)
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
                FROM endpoint_circuits circuit
                WHERE circuit.endpoint = earlier.endpoint
                    AND circuit.business_id = earlier.business_id
                    AND circuit.probing_since IS NOT NULL
            )
    )
)

-- name: rows_table
-- prepare: ids uuid[], businesses bigint[], endpoints bigint[], ordering_keys bigint[], sequences integer[]
-- The rows of the queue as a table (id, business_id, endpoint, ordering_key, sequence).
unnest(?ids::uuid[], ?businesses::bigint[], ?endpoints::bigint[], ?ordering_keys::bigint[], ?sequences::integer[])

-- name: blocked
-- Whether each row waits for an earlier row, and the version of its webhook in the same snapshot; 0 without a webhook.
SELECT
    later.*,
    EXISTS (
        SELECT 1
        FROM delivery_queue earlier
        WHERE
        -- include: is_before
    ) AS blocked,
    coalesce((
        SELECT version
        FROM webhooks
        WHERE business_id = later.business_id AND id = later.endpoint
    ), 0) AS webhook_version
FROM
-- include: rows_table
AS later (id, business_id, endpoint, ordering_key, sequence)

-- name: with_still_blocked
-- The rows that wait for a row that is certain to leave later: its lock is available.
WITH still_blocked AS MATERIALIZED (
    SELECT later.id
    FROM ?rows AS later (id, business_id, endpoint, ordering_key, sequence)
    JOIN delivery_queue earlier
        ON
        -- include: is_before
    FOR SHARE OF earlier SKIP LOCKED
)

-- name: block
-- Makes claimed rows wait for their earlier rows. A row whose earlier row is just leaving is postponed instead.
-- include: with_still_blocked
UPDATE delivery_queue queue
SET
    owner = NULL,
    blocked = blocked.still_blocked,
    available_at = CASE WHEN blocked.still_blocked THEN 'infinity' ELSE ?later::timestamptz END
FROM (
    SELECT later.business_id, later.id, later.id IN (SELECT id FROM still_blocked) AS still_blocked
    FROM ?rows AS later (id, business_id, endpoint, ordering_key, sequence)
    WHERE EXISTS (
        SELECT 1
        FROM delivery_queue earlier
        WHERE
        -- include: is_before
    )
) blocked
WHERE queue.business_id = blocked.business_id AND queue.id = blocked.id AND queue.owner = ?owner
RETURNING queue.id

-- name: unblocked_ordering_keys
-- The ordering keys with rows that wait for nothing any more.
SELECT DISTINCT later.business_id, later.ordering_key
FROM delivery_queue later
WHERE later.ordering_key <> 0
    AND later.blocked
    AND NOT EXISTS (
        SELECT 1
        FROM delivery_queue earlier
        WHERE
        -- include: is_before
    )

-- name: blocked_of_ordering_keys
-- prepare: businesses bigint[], ordering_keys bigint[]
-- Locks the waiting rows of ordering keys, sorted, so that concurrent calls do not deadlock.
SELECT waiting.business_id, waiting.id, waiting.endpoint, waiting.ordering_key, waiting.sequence
FROM delivery_queue waiting
JOIN (
    SELECT DISTINCT business_id, ordering_key
    FROM unnest(?businesses, ?ordering_keys) AS given (business_id, ordering_key)
) released ON waiting.business_id = released.business_id AND waiting.ordering_key = released.ordering_key
WHERE waiting.ordering_key <> 0 AND waiting.blocked
ORDER BY waiting.id
FOR UPDATE OF waiting

-- name: unblock
-- Releases the rows that wait for no earlier row, or for one that is just leaving.
-- include: with_still_blocked
UPDATE delivery_queue queue
SET blocked = false, available_at = greatest(queue.due_at, ?now)
FROM ?rows AS next (id, business_id, endpoint, ordering_key, sequence)
WHERE queue.business_id = next.business_id
    AND queue.id = next.id
    AND queue.id NOT IN (SELECT id FROM still_blocked)
