-- name: figures
-- The numbers of waiting and failed work. Held deliveries are found by their endpoints, so that a queue without
-- any is not read.
WITH
-- The webhooks, and the callback_urls with an open circuit.
endpoints AS (
    SELECT
        webhook.business_id,
        webhook.id AS endpoint,
        webhook.active,
        circuit.endpoint IS NOT NULL AS probed
    FROM webhooks webhook
    LEFT JOIN endpoint_circuits circuit
        ON circuit.business_id = webhook.business_id
        AND circuit.endpoint = webhook.id
        AND circuit.probing_since IS NOT NULL
    WHERE webhook.business_id = ANY (?businesses)
    UNION ALL
    SELECT circuit.business_id, circuit.endpoint, true, true
    FROM endpoint_circuits circuit
    WHERE circuit.business_id = ANY (?businesses) AND circuit.endpoint < 0 AND circuit.probing_since IS NOT NULL
),
-- The queued deliveries and those of them that are held.
deliveries_now AS (
    SELECT
        (
            SELECT count(*)
            FROM (SELECT 1 FROM delivery_queue WHERE business_id = ANY (?businesses) LIMIT ?most_queued) counted
        ) AS queued,
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM endpoints
                JOIN LATERAL (
                    SELECT 1
                    FROM delivery_queue queue
                    WHERE queue.endpoint = endpoints.endpoint
                        AND queue.business_id = endpoints.business_id
                        AND queue.available_at = 'infinity'
                    UNION ALL
                    SELECT 1
                    FROM delivery_queue queue
                    WHERE (endpoints.probed OR NOT endpoints.active)
                        AND queue.endpoint = endpoints.endpoint
                        AND queue.business_id = endpoints.business_id
                        AND queue.available_at < 'infinity'
                        AND queue.owner IS NULL
                        AND NOT (endpoints.active AND queue.manual)
                ) held ON true
                LIMIT ?most_queued
            ) counted
        ) AS held
)
SELECT
    least(queued - held, ?most),
    least(held, ?most),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM deliveries
            WHERE business_id = ANY (?businesses) AND state = 'failed' AND finished_at >= ?since
            LIMIT ?most
        ) counted
    ),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM problems problem
            WHERE problem.business_id = ANY (?businesses)
                AND problem.state <> 'resolved'
                AND EXISTS (
                    SELECT
                    FROM deliveries delivery
                    WHERE delivery.business_id = problem.business_id AND delivery.problem_id = problem.id
                )
            LIMIT ?most
        ) counted
    ),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM problems problem
            JOIN deliveries delivery
                ON delivery.business_id = problem.business_id AND delivery.problem_id = problem.id
            WHERE problem.business_id = ANY (?businesses) AND problem.state <> 'resolved'
            LIMIT ?most
        ) counted
    ),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM jobs
            WHERE business_id = ANY (?businesses) AND state = 'failed' AND id >= ?first
            LIMIT ?most
        ) counted
    ),
    (SELECT count(*) FROM (SELECT 1 FROM job_queue WHERE business_id = ANY (?businesses) LIMIT ?most) counted)
FROM deliveries_now

-- name: add_counts
-- Adds counts of attempts in the order of the key, so that two replicas do not deadlock.
INSERT INTO attempt_counts AS stored (
    business_id, bucket_seconds, bucket_start, webhook_id, succeeded, failed, total_us, max_us
)
SELECT *
FROM unnest(
    ?businesses::bigint[],
    ?grains::int[],
    ?at::timestamptz[],
    ?webhooks::bigint[],
    ?succeeded::bigint[],
    ?failed::bigint[],
    ?took::bigint[],
    ?slow::bigint[]
) AS counted (business, bucket_seconds, bucket_start, webhook)
ORDER BY business, bucket_seconds, bucket_start, webhook
ON CONFLICT (business_id, bucket_seconds, bucket_start, webhook_id) DO UPDATE
SET
    succeeded = stored.succeeded + excluded.succeeded,
    failed = stored.failed + excluded.failed,
    total_us = stored.total_us + excluded.total_us,
    max_us = greatest(stored.max_us, excluded.max_us)

-- name: add_health
-- Adds the latest outcomes of webhooks. Attempts that started before the URL or headers last changed do not count.
INSERT INTO webhook_health AS stored (
    business_id, webhook_id, succeeded_at, failed_at, failing_since, status, error_class, error, delivery_id
)
SELECT
    business,
    webhook,
    CASE WHEN succeeded >= since THEN succeeded END,
    CASE WHEN failed >= since THEN failed END,
    CASE
        WHEN failing >= since THEN failing
        WHEN failed >= since AND failing > '-infinity' THEN failed
    END,
    status,
    class,
    error,
    delivery
FROM unnest(
    ?businesses::bigint[],
    ?webhooks::bigint[],
    ?succeeded::timestamptz[],
    ?failed::timestamptz[],
    ?failing::timestamptz[],
    ?statuses::smallint[],
    ?classes::text[],
    ?errors::text[],
    ?deliveries::uuid[]
) AS change (business, webhook, succeeded, failed, failing, status, class, error, delivery)
CROSS JOIN LATERAL (
    SELECT coalesce(
        (
            SELECT health.reset_at
            FROM webhook_health health
            WHERE health.business_id = business AND health.webhook_id = webhook
        ),
        '0001-01-01'
    ) AS since
) changed
ORDER BY business, webhook
ON CONFLICT (business_id, webhook_id) DO UPDATE
SET
    succeeded_at = greatest(stored.succeeded_at, excluded.succeeded_at),
    failed_at = greatest(stored.failed_at, excluded.failed_at),
    failing_since = (
        SELECT
            CASE
                WHEN latest.failed > latest.succeeded THEN coalesce(
                    least(
                        CASE WHEN stored.failing_since > latest.succeeded THEN stored.failing_since END,
                        CASE WHEN excluded.failing_since > latest.succeeded THEN excluded.failing_since END
                    ),
                    latest.failed
                )
            END
        FROM (
            SELECT
                coalesce(greatest(stored.succeeded_at, excluded.succeeded_at), '-infinity') AS succeeded,
                greatest(stored.failed_at, excluded.failed_at) AS failed
        ) latest
    ),
    status = CASE WHEN excluded.failed_at IS NULL THEN stored.status ELSE excluded.status END,
    error_class = CASE WHEN excluded.failed_at IS NULL THEN stored.error_class ELSE excluded.error_class END,
    error = CASE WHEN excluded.failed_at IS NULL THEN stored.error ELSE excluded.error END,
    delivery_id = CASE WHEN excluded.failed_at IS NULL THEN stored.delivery_id ELSE excluded.delivery_id END
WHERE stored.reset_at IS NULL OR greatest(excluded.succeeded_at, excluded.failed_at) >= stored.reset_at

-- name: change_token
-- A text that differs after a change. It covers the latest jobs, orders and calls, attempts, webhooks, rejected
-- orders, publications and the audit trail.
SELECT concat_ws(
    '/',
    (
        SELECT concat_ws('.', max(job.id::text), sum(job.progress), sum(job.attempts), count(job.finished_at))
        FROM (
            SELECT id, progress, attempts, finished_at
            FROM jobs
            WHERE business_id = ?business
            ORDER BY id DESC
            LIMIT 50
        ) job
    ),
    (
        SELECT sum(succeeded + failed)
        FROM attempt_counts
        WHERE business_id = ?business AND bucket_seconds = 3600 AND bucket_start >= ?hour AND webhook_id = 0
    ),
    (
        SELECT concat_ws('.', max(latest.updated_at), sum(latest.events))
        FROM (
            SELECT updated_at, events
            FROM orders
            WHERE business_id = ?business
            ORDER BY created_at DESC, id DESC
            LIMIT 200
        ) latest
    ),
    (
        SELECT concat_ws('.', max(call.id::text), count(call.finished_at), sum(call.attempts))
        FROM (
            SELECT id, finished_at, attempts
            FROM calls
            WHERE business_id = ?business
            ORDER BY id DESC
            LIMIT 50
        ) call
    ),
    (SELECT concat_ws('.', count(*), sum(version)) FROM webhooks WHERE business_id = ?business),
    (SELECT max(last_at) FROM rejected_orders WHERE business_id = ?business),
    (SELECT max(settled_at) FROM publications WHERE business_id = ?business),
    (
        SELECT max(entry.id::text)
        FROM (SELECT id FROM audit WHERE business_id = ?business ORDER BY id DESC LIMIT 1) entry
    )
)
