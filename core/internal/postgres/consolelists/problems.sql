-- name: problems
-- Problems with the events of their webhooks and the number of their failed deliveries, latest first.
SELECT
    problem.business_id,
    problem.id,
    problem.server,
    problem.error_class,
    problem.status,
    problem.webhooks,
    problem.first_seen_at,
    problem.last_seen_at,
    problem.state,
    problem.changed_by,
    problem.changed_at,
    problem.reopened_at,
    problem.assignee,
    problem.note,
    ARRAY(
        SELECT DISTINCT webhook.event_type
        FROM webhooks webhook
        WHERE webhook.business_id = problem.business_id AND webhook.id = ANY (problem.webhooks)
        ORDER BY webhook.event_type
    ) AS events,
    (
        SELECT count(*)
        FROM (
            SELECT
            FROM deliveries delivery
            WHERE delivery.business_id = problem.business_id AND delivery.problem_id = problem.id
            LIMIT ?most
        ) delivery
    ) AS failed
FROM (
    SELECT *
    FROM problems problem
    WHERE true ?only
    ORDER BY problem.last_seen_at DESC, problem.id DESC
    LIMIT ?limit
) problem
ORDER BY problem.last_seen_at DESC, problem.id DESC

-- name: problem_webhooks
-- The webhooks and the callback_urls with failed deliveries of a problem, most first.
SELECT
    coalesce(failed.webhook_id, 0),
    failed.event_type,
    max(failed.url),
    count(*),
    max(failed.finished_at)
FROM (
    SELECT webhook_id, event_type, url, finished_at
    FROM deliveries
    WHERE business_id = ?business AND problem_id = ?problem
    ORDER BY id DESC
    LIMIT ?most
) failed
GROUP BY 1, 2
ORDER BY 4 DESC, 1, 2
LIMIT ?limit

-- name: problem_resends
-- The latest resends of a problem, each with its counts so far.
SELECT id, state, error, actor, created_at, coalesce(result, cursor, '{}')
FROM jobs
WHERE business_id = ?business AND kind = ?kind AND subject = ?subject
ORDER BY id DESC
LIMIT ?limit
