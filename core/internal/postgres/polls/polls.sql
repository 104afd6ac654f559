-- name: missing
-- The polls of a plugin that are not in the queue: for each of its platforms, or for each store that one lists.
SELECT
    platform.business_id,
    platform.name,
    declared.name,
    declared.period,
    coalesce(store.id, 0),
    coalesce(store.ref_id, '')
FROM unnest(?names::text[], ?periods::bigint[], ?per_store::boolean[]) AS declared (name, period, per_store)
JOIN platforms platform ON platform.served_by = ?plugin
LEFT JOIN stores store
    ON declared.per_store
    AND store.business_id = platform.business_id
    AND ?listed_on
WHERE (NOT declared.per_store OR store.id IS NOT NULL)
    AND NOT EXISTS (
        SELECT 1
        FROM call_queue queued
        WHERE queued.business_id = platform.business_id
            AND queued.ordering_key = 'poll:' || platform.name || '/' || declared.name || '/' || coalesce(store.id, 0)
    )
ORDER BY platform.business_id, platform.name, declared.name, store.id
LIMIT ?limit

-- name: queue
-- Queues polls, unless another replica has done so.
INSERT INTO call_queue (
    business_id, ordering_key, kind, platform, order_id, endpoint, payload, call_id, received_at, due_at, available_at
)
SELECT business, ordering_key, 'poll', platform, 0, endpoint, payload, id, due, due, due
FROM unnest(
    ?businesses::bigint[],
    ?ordering_keys::text[],
    ?platforms::text[],
    ?endpoints::bigint[],
    ?payloads::text[],
    ?ids::uuid[],
    ?due::timestamptz[]
) AS poll (business, ordering_key, platform, endpoint, payload, id, due)
ORDER BY business, ordering_key
ON CONFLICT (business_id, ordering_key) DO NOTHING

-- name: add
-- Adds the records of polls. Those of earlier times keep their cursors.
INSERT INTO polls (business_id, platform, poll, store_id)
SELECT *
FROM unnest(?businesses::bigint[], ?platforms::text[], ?polls::text[], ?stores::bigint[])
ON CONFLICT DO NOTHING

-- name: run
-- The cursor of a poll, unless it is that of another plugin, and its store. The last column is false if the platform
-- does not list the store.
SELECT
    CASE WHEN poll.plugin = ?plugin THEN poll.cursor ELSE '' END,
    coalesce(store.ref_id, ''),
    coalesce(CASE WHEN store.id IS NOT NULL THEN ?given_id END, ''),
    poll.store_id = 0 OR coalesce(?listed_on, false)
FROM polls poll
JOIN platforms platform ON platform.business_id = poll.business_id AND platform.name = poll.platform
LEFT JOIN stores store ON store.business_id = poll.business_id AND store.id = poll.store_id
WHERE poll.business_id = ?business
    AND poll.platform = ?platform
    AND poll.poll = ?poll
    AND poll.store_id = ?store

-- name: pending
-- The requests of a platform, or of one of its stores, whose outcome is pending.
SELECT task.reference, task.kind, coalesce(store.ref_id, ''), task.expires_at
FROM outcome_tasks task
LEFT JOIN stores store ON store.business_id = task.business_id AND store.id = task.store_id
WHERE task.business_id = ?business
    AND task.platform = ?platform
    AND task.state = 'pending'
    AND task.expires_at > ?now
    AND (?store = 0 OR task.store_id = ?store)
ORDER BY task.updated_at, task.reference
LIMIT ?limit

-- name: requeue
-- Sets when a leased poll is due next, or removes it from the queue. A run that is over is followed by a new one.
WITH
leased AS (
    SELECT ordering_key
    FROM call_queue
    WHERE business_id = ?business
        AND ordering_key = ?ordering_key
        AND owner = ?owner
        AND lease = ?lease
        AND call_id = ?run
    FOR UPDATE
),
removed AS (
    DELETE FROM call_queue
    WHERE business_id = ?business AND ordering_key = (SELECT ordering_key FROM leased) AND ?leaves
),
requeued AS (
    UPDATE call_queue queue
    SET
        owner = NULL,
        call_id = ?next_run,
        received_at = CASE WHEN ?over THEN ?due::timestamptz ELSE queue.received_at END,
        version = queue.version + 1,
        attempts = ?attempts,
        due_at = ?due,
        available_at = ?due,
        note = ?note,
        steps = CASE WHEN ?over THEN NULL ELSE queue.steps END
    WHERE queue.business_id = ?business
        AND queue.ordering_key = (SELECT ordering_key FROM leased)
        AND NOT ?leaves
)
SELECT count(*) FROM leased

-- name: record
-- Records an attempt. A successful run has a new cursor, and the messages that it found.
UPDATE polls
SET
    attempted_at = CASE WHEN ?attempted THEN ?now::timestamptz ELSE attempted_at END,
    message = ?message,
    failed = ?failed,
    failures = ?failures,
    plugin = CASE WHEN ?read THEN ?plugin ELSE plugin END,
    cursor = CASE WHEN ?read THEN ?cursor ELSE cursor END,
    seen = CASE WHEN ?read THEN ?seen ELSE seen END
WHERE business_id = ?business AND platform = ?platform AND poll = ?poll AND store_id = ?store

-- name: list
-- The polls of a business, those that are not in the queue last.
SELECT
    poll.platform,
    poll.poll,
    coalesce(store.ref_id, ''),
    poll.attempted_at,
    poll.failed,
    poll.message,
    queued.due_at,
    coalesce(queued.owner IS NOT NULL, false)
FROM polls poll
LEFT JOIN stores store ON store.business_id = poll.business_id AND store.id = poll.store_id
LEFT JOIN call_queue queued
    ON queued.business_id = poll.business_id
    AND queued.ordering_key = 'poll:' || poll.platform || '/' || poll.poll || '/' || poll.store_id
WHERE poll.business_id = ?business
ORDER BY poll.platform, queued.due_at IS NULL, poll.failures DESC, poll.poll, poll.store_id
LIMIT ?limit
