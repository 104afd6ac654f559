-- name: claim
-- prepare: endpoints part, heads part, sent_name part, busy bigint[], plugins text[]
-- prepare: now timestamptz, epoch bigint, limit integer, share integer, owner uuid, until timestamptz
-- Leases due publications, the longest waiting endpoints first. The digests are cleared if a lease expired or another
-- call changed the menu at the aggregator meanwhile.
WITH RECURSIVE
endpoints AS (
    ?endpoints
),
heads AS (
    ?heads
),
-- The rows to lease: a share of each endpoint.
due AS (
    SELECT shared.*
    FROM heads
    CROSS JOIN LATERAL (
        SELECT
            business_id,
            store_id,
            platform
        FROM publications
        WHERE endpoint = heads.endpoint AND available_at <= ?now AND available_at < 'infinity'
        ORDER BY available_at
        LIMIT ?share
        FOR UPDATE SKIP LOCKED
    ) shared
    LIMIT ?limit
)
UPDATE publications publication
SET
    owner = ?owner,
    lease = nextval('leases'),
    available_at = ?until,
    first_marked_at = NULL,
    state_unknown = false,
    digest = CASE WHEN publication.owner IS NULL AND NOT publication.state_unknown THEN publication.digest END,
    sent_menu = CASE
        WHEN publication.owner IS NULL AND NOT publication.state_unknown THEN publication.sent_menu
        ELSE (publication.sent_menu::jsonb - 'digest')::text
    END
FROM due
JOIN stores store ON store.business_id = due.business_id AND store.id = due.store_id
LEFT JOIN platforms platform ON platform.business_id = due.business_id AND platform.name = due.platform
WHERE ?epoch IN (0, (SELECT epoch FROM clock_epoch))
    AND publication.business_id = due.business_id
    AND publication.store_id = due.store_id
    AND publication.platform = due.platform
RETURNING
    publication.business_id,
    publication.store_id,
    store.ref_id,
    publication.platform,
    ?sent_name,
    coalesce(platform.served_by, 'own'),
    publication.endpoint,
    publication.version,
    publication.attempts,
    publication.call_id,
    publication.reference,
    publication.pending_references,
    publication.publish_requests,
    publication.digest,
    publication.steps,
    coalesce(
        (
            SELECT jobs.trace
            FROM jobs
            WHERE jobs.business_id = publication.business_id AND jobs.id = publication.reference
            LIMIT 1
        ),
        ''
    ),
    publication.sent_menu,
    publication.sent_deadline,
    publication.lease

-- name: retry
-- Returns a claimed publication to the queue. One that was marked meanwhile restarts. An earlier menu whose outcome is
-- pending stays so, unless a counted attempt sent another one.
UPDATE publications
SET
    owner = NULL,
    sent_menu = CASE
        WHEN ?sent_stays AND ?attempted THEN (sent_menu::jsonb - 'digest')::text
        WHEN ?sent_stays THEN sent_menu
    END,
    sent_at = CASE WHEN ?sent_stays THEN sent_at END,
    sent_deadline = CASE WHEN ?sent_stays THEN sent_deadline END,
    sent_task = CASE WHEN ?sent_stays THEN sent_task ELSE '' END,
    call_id = CASE WHEN version = ?version THEN ?call::uuid END,
    note = ?note,
    digest = CASE WHEN state_unknown THEN NULL ELSE ?digest::bytea END,
    attempts = CASE WHEN version > ?version THEN 0 ELSE ?attempts END,
    available_at = CASE WHEN version > ?version THEN due_at ELSE ?retry_at END
WHERE business_id = ?business
    AND store_id = ?store
    AND platform = ?platform
    AND owner = ?owner
    AND lease = ?lease

-- name: save_steps
-- Stores the completed steps of a claimed publication, and the call that they belong to.
UPDATE publications
SET steps = ?sealed, call_id = CASE WHEN version = ?version THEN ?call::uuid END
WHERE business_id = ?business
    AND store_id = ?store
    AND platform = ?platform
    AND owner = ?owner
    AND lease = ?lease

-- name: await
-- Stores that the aggregator reports the outcome of a claimed publication later. It is claimed again at the deadline.
-- One that was marked meanwhile is due again.
UPDATE publications
SET
    owner = NULL,
    call_id = CASE WHEN version = ?version THEN ?call::uuid END,
    note = '',
    digest = NULL,
    attempts = CASE WHEN version > ?version THEN 0 ELSE ?attempts END,
    due_at = CASE WHEN version > ?version THEN due_at ELSE ?deadline END,
    available_at = CASE WHEN version > ?version THEN due_at ELSE ?deadline END,
    steps = NULL,
    sent_menu = ?sent,
    sent_at = ?since,
    sent_deadline = ?deadline,
    sent_task = ?task,
    platform_store_id = coalesce(platform_store_id, nullif(?platform_store_id, ''))
WHERE business_id = ?business
    AND store_id = ?store
    AND platform = ?platform
    AND owner = ?owner
    AND lease = ?lease

-- name: lock_sent
-- Locks the publication of a menu whose outcome an aggregator reports.
SELECT
    store.ref_id,
    ?sent_name,
    coalesce(platform.served_by, 'own'),
    publication.version,
    publication.reference,
    publication.owner IS NOT NULL,
    coalesce(publication.sent_menu, '')
FROM publications publication
JOIN stores store ON store.business_id = publication.business_id AND store.id = publication.store_id
LEFT JOIN platforms platform
    ON platform.business_id = publication.business_id
    AND platform.name = publication.platform
WHERE publication.business_id = ?business
    AND publication.store_id = ?store
    AND publication.platform = ?platform
FOR UPDATE OF publication

-- name: resend
-- Queues a menu again that failed after the aggregator had accepted it. One that was marked meanwhile is due anyway.
UPDATE publications
SET
    owner = NULL,
    call_id = NULL,
    note = ?note,
    digest = NULL,
    attempts = CASE WHEN version > ?version THEN 0 ELSE ?attempts END,
    due_at = CASE WHEN version > ?version THEN due_at ELSE ?retry_at END,
    available_at = CASE WHEN version > ?version THEN due_at ELSE ?retry_at END,
    steps = NULL,
    sent_menu = NULL,
    sent_at = NULL,
    sent_deadline = NULL,
    sent_task = ''
WHERE business_id = ?business AND store_id = ?store AND platform = ?platform

-- name: conclude
-- Stores the outcome of a publication. One that was marked meanwhile is due again.
UPDATE publications
SET
    owner = NULL,
    sent_menu = NULL,
    sent_at = NULL,
    sent_deadline = NULL,
    sent_task = '',
    attempts = 0,
    steps = NULL,
    note = '',
    call_id = NULL,
    available_at = CASE WHEN version > ?version THEN due_at ELSE 'infinity' END,
    publish_requests = ARRAY(
        SELECT reference FROM unnest(publish_requests) reference WHERE reference <> ALL (?publish_requests::uuid[])
    ),
    pending_references = ARRAY(
        SELECT reference FROM unnest(pending_references) reference WHERE reference <> ALL (?pending_references::uuid[])
    ),
    problems = CASE WHEN ?unchanged AND state = 'published' THEN problems ELSE ?problems END,
    warnings = CASE WHEN ?unchanged AND state = 'published' THEN warnings ELSE ?warnings END,
    state = ?state,
    message = ?message,
    left_out = ?left_out,
    outcome_reference = ?reference,
    digest = CASE WHEN state_unknown THEN NULL ELSE ?digest::bytea END,
    settled_at = ?at,
    published_at = CASE WHEN ?taken THEN ?at ELSE published_at END,
    platform_store_id = coalesce(nullif(?platform_store_id, ''), platform_store_id)
WHERE business_id = ?business
    AND store_id = ?store
    AND platform = ?platform
    AND ?held

-- name: list
SELECT
    store.ref_id,
    publication.platform,
    publication.state,
    publication.message,
    publication.left_out,
    publication.problems,
    publication.warnings,
    publication.outcome_reference,
    publication.published_at,
    publication.settled_at,
    CASE
        WHEN publication.available_at < 'infinity' THEN CASE
            WHEN publication.owner IS NULL THEN publication.available_at
            ELSE publication.due_at
        END
    END,
    publication.note,
    publication.attempts,
    publication.sent_at,
    publication.sent_deadline,
    publication.sent_task
FROM publications publication
JOIN stores store ON store.business_id = publication.business_id AND store.id = publication.store_id
WHERE publication.business_id = ?business
    AND (?store = '' OR store.ref_id = ?store)
    AND (?platform = '' OR publication.platform = ?platform)
    AND (?state = '' OR publication.state = ?state)
    AND (store.ref_id, publication.platform) > (?after_store, ?after_platform)
ORDER BY store.ref_id, publication.platform
LIMIT ?limit

-- name: resolve_platforms
-- The platforms that names and aliases stand for, in the order of the names; empty for an unknown name.
SELECT coalesce(platform.name, alias.platform, '')
FROM unnest(?names::text[]) WITH ORDINALITY AS given (name, n)
LEFT JOIN platforms platform ON platform.business_id = ?business AND platform.name = given.name
LEFT JOIN platform_aliases alias ON alias.business_id = ?business AND alias.alias = given.name
ORDER BY given.n
