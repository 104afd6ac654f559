-- name: mark_due
-- Marks stores on platforms as due, in key order. The latest hundred requests that wait for an outcome are kept.
INSERT INTO publications AS marked (
    business_id, store_id, platform, endpoint, reference, pending_references, publish_requests, state_unknown,
    first_marked_at, due_at, available_at
)
SELECT
    store.business_id,
    store.id,
    platform.name,
    hashtextextended(store.business_id || '/' || platform.name, 0),
    ?reference::uuid,
    ?pending_references::uuid[],
    ?publish_requests::uuid[],
    ?state_unknown::boolean,
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
    call_id = NULL,
    note = '',
    reference = excluded.reference,
    publish_requests = marked.publish_requests || excluded.publish_requests,
    pending_references = CASE
        WHEN marked.pending_references @> excluded.pending_references THEN marked.pending_references
        ELSE (marked.pending_references || excluded.pending_references)[
            greatest(1, cardinality(marked.pending_references) + cardinality(excluded.pending_references) - 99):
        ]
    END,
    state_unknown = marked.state_unknown OR excluded.state_unknown,
    first_marked_at = coalesce(marked.first_marked_at, excluded.first_marked_at),
    due_at = ?due_again,
    available_at = CASE WHEN marked.owner IS NULL THEN ?due_again ELSE marked.available_at END

-- name: due_again
-- The due time of a row that is marked again (publish.Debounce). It waits for a quiet period, limited by the time
-- of the first mark. It is not postponed while a request waits for it.
least(
    excluded.due_at,
    coalesce(marked.first_marked_at, excluded.first_marked_at) + ?most_microseconds * interval '1 microsecond',
    CASE
        WHEN cardinality(marked.publish_requests) > 0 AND marked.owner IS NULL AND marked.available_at < 'infinity'
            THEN marked.available_at
    END
)

-- name: forget_published
-- Clears the published state of a platform. Locks its publications in key order.
WITH locked AS (
    SELECT store_id
    FROM publications
    WHERE business_id = ?business AND platform = ?platform
    ORDER BY store_id
    FOR UPDATE
)
UPDATE publications publication
SET
    owner = NULL,
    call_id = NULL,
    digest = NULL,
    platform_store_id = NULL,
    published_at = NULL,
    message = '',
    left_out = '[]',
    problems = '[]',
    warnings = '[]',
    sent_menu = NULL,
    sent_at = NULL,
    sent_deadline = NULL,
    sent_task = '',
    state = CASE WHEN state IN ('unlisted', 'skipped') THEN state ELSE 'waiting' END
FROM locked
WHERE publication.business_id = ?business
    AND publication.platform = ?platform
    AND publication.store_id = locked.store_id

-- name: recheck_queued
-- Starts a queued recheck again. Reports whether no other one is needed: it is queued, or no plugin serves the
-- platform and there are no findings to remove.
WITH
-- Its row in the queue, which claims lock first, too. A locked one may be running now.
waiting AS MATERIALIZED (
    SELECT queue.job_id
    FROM job_queue queue
    JOIN jobs ON jobs.business_id = queue.business_id AND jobs.id = queue.job_id
    WHERE queue.business_id = ?business AND queue.ordering_key = ?ordering_key AND jobs.state = 'queued'
    FOR UPDATE OF queue SKIP LOCKED
),
queued AS (
    UPDATE jobs
    SET body = ?body
    FROM waiting
    WHERE jobs.business_id = ?business AND jobs.id = waiting.job_id AND jobs.state = 'queued'
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

-- name: write_findings
-- Stores findings. An error replaces a warning of the same rule.
INSERT INTO platform_findings (
    business_id, item_id, store_id, platform, rule, message, warning, entity, ref_id
)
SELECT
    ?business,
    found.item,
    found.store,
    found.platform,
    found.rule,
    found.message,
    found.warning,
    found.entity,
    found.ref
FROM unnest(
    ?items::bigint[],
    ?stores::bigint[],
    ?platforms::text[],
    ?rules::text[],
    ?messages::text[],
    ?warnings::boolean[],
    ?entities::text[],
    ?refs::text[]
) AS found (item, store, platform, rule, message, warning, entity, ref)
ORDER BY found.warning
ON CONFLICT DO NOTHING
