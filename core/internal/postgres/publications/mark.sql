-- name: mark_due
-- Marks stores on platforms as due, in key order. The latest hundred requests that wait for an outcome are kept.
INSERT INTO publications AS marked (
    business_id, store_id, platform, endpoint, reference, waiting, asked, unsure, first_at, due_at, available_at
)
SELECT
    store.business_id,
    store.id,
    platform.name,
    hashtextextended(store.business_id || '/' || platform.name, 0),
    ?reference::uuid,
    ?waiting::uuid[],
    ?asked::uuid[],
    ?unsure::boolean,
    ?now::timestamptz,
    ?due::timestamptz,
    ?due::timestamptz
FROM stores store
JOIN platforms platform ON platform.business_id = store.business_id
LEFT JOIN publications publication
    ON publication.business_id = store.business_id
    AND publication.store_id = store.id
    AND publication.platform = platform.name
WHERE ?selected
ORDER BY store.business_id, store.id, platform.name
ON CONFLICT (business_id, store_id, platform) DO UPDATE
SET
    version = marked.version + 1,
    attempts = 0,
    note = '',
    reference = excluded.reference,
    asked = marked.asked || excluded.asked,
    waiting = CASE
        WHEN marked.waiting @> excluded.waiting THEN marked.waiting
        ELSE (marked.waiting || excluded.waiting)[
            greatest(1, cardinality(marked.waiting) + cardinality(excluded.waiting) - 99):
        ]
    END,
    unsure = marked.unsure OR excluded.unsure,
    first_at = coalesce(marked.first_at, excluded.first_at),
    due_at = ?due_again,
    available_at = CASE WHEN marked.owner IS NULL THEN ?due_again ELSE marked.available_at END

-- name: due_again
-- The due time of a row that is marked again (publish.Debounce). It waits for a quiet period, limited by the time
-- of the first mark. It is not postponed while a request waits for it.
least(
    excluded.due_at,
    coalesce(marked.first_at, excluded.first_at) + ?most_microseconds * interval '1 microsecond',
    CASE
        WHEN cardinality(marked.asked) > 0 AND marked.owner IS NULL AND marked.available_at < 'infinity'
            THEN marked.available_at
    END
)

-- name: forget_published
-- Clears what a platform holds. Locks its publications in key order.
WITH held AS (
    SELECT store_id
    FROM publications
    WHERE business_id = ?business AND platform = ?platform
    ORDER BY store_id
    FOR UPDATE
)
UPDATE publications publication
SET
    owner = NULL,
    digest = NULL,
    outlet = NULL,
    published_at = NULL,
    message = '',
    left_out = '[]',
    problems = '[]',
    state = CASE WHEN state IN ('unlisted', 'skipped') THEN state ELSE 'waiting' END
FROM held
WHERE publication.business_id = ?business
    AND publication.platform = ?platform
    AND publication.store_id = held.store_id

-- name: recheck_queued
-- Starts a queued recheck again. Reports whether no other one is needed: it is queued, or no plugin serves the
-- platform and there are no findings to remove.
WITH queued AS (
    UPDATE jobs
    SET body = ?body
    FROM job_queue queue
    WHERE queue.business_id = ?business
        AND queue.kind = ?kind
        AND jobs.business_id = queue.business_id
        AND jobs.id = queue.job_id
        AND jobs.subject = ?platform
        AND jobs.state = 'queued'
    RETURNING 1
)
SELECT
    EXISTS (SELECT 1 FROM queued)
    OR NOT EXISTS (
        SELECT 1 FROM platforms WHERE business_id = ?business AND name = ?platform AND served_by <> ?own
    )
    AND NOT EXISTS (
        SELECT 1 FROM platform_findings WHERE business_id = ?business AND platform = ?platform
    )
