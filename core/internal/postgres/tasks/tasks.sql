-- name: register
-- Stores a task whose outcome is pending. Returns the report that arrived before it, or ''. It returns no row if
-- another request is pending with that reference.
INSERT INTO outcome_tasks AS task (
    business_id, platform, reference, kind, store_id, call_id, state, updated_at, expires_at
)
VALUES (?business, ?platform, ?reference, ?kind, ?store, ?call, 'pending', ?now, ?deadline)
ON CONFLICT (business_id, platform, reference) DO UPDATE
SET
    kind = excluded.kind,
    store_id = excluded.store_id,
    call_id = excluded.call_id,
    state = excluded.state,
    report = CASE WHEN task.state = 'early' AND task.expires_at > ?now THEN task.report ELSE '' END,
    updated_at = excluded.updated_at,
    expires_at = excluded.expires_at
WHERE task.state <> 'pending'
    OR task.expires_at <= ?now
    OR task.call_id = excluded.call_id
    OR task.kind = 'menu' AND excluded.kind = 'menu' AND task.store_id = excluded.store_id
RETURNING report

-- name: find
-- The task with a reference, or else the latest pending one of a kind and store.
SELECT task.reference, task.kind, task.store_id, task.call_id, task.state, task.expires_at
FROM outcome_tasks task
WHERE task.business_id = ?business
    AND task.platform = ?platform
    AND task.state <> 'early'
    AND CASE
        WHEN ?reference <> '' THEN task.reference = ?reference
        ELSE task.kind = ?kind
            AND task.store_id = (SELECT id FROM stores WHERE business_id = ?business AND ref_id = ?store)
    END
ORDER BY task.state = 'pending' DESC, task.updated_at DESC
LIMIT 1

-- name: is_sending
-- Reports whether a replica sends a menu of a store, or a call of a kind to a platform. A leased ordering key sends its
-- first call, whose kind may differ from that of the row.
SELECT EXISTS (
    SELECT 1
    FROM publications publication
    JOIN stores store ON store.business_id = publication.business_id AND store.id = publication.store_id
    WHERE ?kind = 'menu'
        AND publication.business_id = ?business
        AND publication.platform = ?platform
        AND publication.owner IS NOT NULL
        AND store.ref_id = ?store
)
OR EXISTS (
    SELECT 1
    FROM call_queue queued
    WHERE queued.business_id = ?business
        AND queued.platform = ?platform
        AND queued.owner IS NOT NULL
        AND coalesce(
            (
                SELECT kind
                FROM calls
                WHERE business_id = queued.business_id AND ordering_key = queued.ordering_key AND state = 'waiting'
                ORDER BY sequence
                LIMIT 1
            ),
            queued.kind
        ) = ?kind
)

-- name: keep_early
-- Stores the report of an unknown task for a while. Returns no row if the task is known meanwhile.
INSERT INTO outcome_tasks AS task (business_id, platform, reference, state, report, updated_at, expires_at)
VALUES (?business, ?platform, ?reference, 'early', ?report, ?now, ?until)
ON CONFLICT (business_id, platform, reference) DO UPDATE
SET report = excluded.report, updated_at = excluded.updated_at, expires_at = excluded.expires_at
WHERE task.state = 'early'
RETURNING true

-- name: end
-- Ends pending tasks by their requests. They stay for a while, so that repeated reports are known.
UPDATE outcome_tasks task
SET state = ended.state, report = '', updated_at = ?now, expires_at = ?until
FROM unnest(?businesses::bigint[], ?calls::uuid[], ?states::text[]) AS ended (business_id, call_id, state)
WHERE task.business_id = ended.business_id AND task.call_id = ended.call_id AND task.state = 'pending'

-- name: delete_expired
-- Deletes what is known of tasks that have ended, and early reports. A pending task ends with its request.
DELETE FROM outcome_tasks
WHERE (business_id, platform, reference) IN (
    SELECT business_id, platform, reference
    FROM outcome_tasks
    WHERE expires_at <= ?now AND (state <> 'pending' OR expires_at <= ?now::timestamptz - interval '1 day')
    ORDER BY expires_at
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
)
