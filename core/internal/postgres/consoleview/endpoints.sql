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
    LEFT JOIN unwell_endpoints circuit
        ON circuit.business_id = webhook.business_id
        AND circuit.endpoint = webhook.id
        AND circuit.probing_since IS NOT NULL
    WHERE webhook.business_id = ANY (?businesses)
    UNION ALL
    SELECT circuit.business_id, circuit.endpoint, true, true
    FROM unwell_endpoints circuit
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
                        AND NOT (endpoints.active AND queue.asked)
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
            WHERE business_id = ANY (?businesses) AND state = 'failed' AND id >= ?first
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

-- name: endpoints
-- Webhooks with their health and the counts of the last day.
SELECT
    webhook.business_id,
    webhook.id,
    webhook.event_type,
    webhook.url,
    webhook.active,
    webhook.disabled_reason,
    webhook.retrial_interval_units,
    webhook.event_type_header,
    webhook.event_type_header_value,
    webhook.created_at,
    webhook.old_secret_until,
    circuit.probing_since,
    coalesce(circuit.pause_ms, 0) AS pause_ms,
    health.accepted_at,
    health.refused_at,
    health.failing_since,
    coalesce(health.status, 0) AS status,
    coalesce(health.error_class, '') AS error_class,
    coalesce(health.error, '') AS error,
    coalesce(health.delivery_id, '00000000-0000-0000-0000-000000000000') AS delivery_id,
    queued.held,
    queued.waiting,
    failed.given_up,
    server.server_answered,
    coalesce(counts.accepted, 0) AS accepted,
    coalesce(counts.refused, 0) AS refused,
    coalesce(counts.took_us, 0) AS took_us,
    coalesce(counts.slow_us, 0) AS slow_us
FROM (?webhooks) webhook
LEFT JOIN endpoint_health health ON health.business_id = webhook.business_id AND health.webhook_id = webhook.id
LEFT JOIN unwell_endpoints circuit
    ON circuit.endpoint = webhook.id
    AND circuit.business_id = webhook.business_id
    AND circuit.probing_since IS NOT NULL
-- The attempts of the day.
LEFT JOIN LATERAL (
    SELECT
        sum(accepted)::bigint AS accepted,
        sum(refused)::bigint AS refused,
        sum(took_us)::bigint AS took_us,
        max(slow_us) AS slow_us
    FROM attempt_counts
    WHERE business_id = webhook.business_id AND grain = 3600 AND at >= ?day AND webhook_id = webhook.id
) counts ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE held) AS held, count(*) FILTER (WHERE NOT held) AS waiting
    FROM (
        SELECT ?is_held AS held
        FROM delivery_queue delivery
        WHERE delivery.webhook_id = webhook.id
        LIMIT ?most
    ) delivery
) queued ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS given_up
    FROM (
        SELECT
        FROM deliveries delivery
        WHERE delivery.business_id = webhook.business_id
            AND delivery.webhook_id = webhook.id
            AND delivery.state = 'failed'
            AND delivery.id >= ?first
        LIMIT ?most
    ) delivery
) failed ON true
-- For a failing webhook: when its server last accepted a delivery of another one.
LEFT JOIN LATERAL (
    SELECT max(other_health.accepted_at) AS server_answered
    FROM webhooks other
    JOIN endpoint_health other_health
        ON other_health.business_id = other.business_id AND other_health.webhook_id = other.id
    WHERE health.failing_since IS NOT NULL
        AND other.business_id = webhook.business_id
        AND other.id <> webhook.id
        AND split_part(other.url, '/', 3) = split_part(webhook.url, '/', 3)
) server ON true
ORDER BY webhook.id

-- name: troubled
-- The webhooks that need attention: the failing ones first, and a share for each business.
SELECT webhook.*
FROM webhooks webhook
LEFT JOIN endpoint_health health ON health.business_id = webhook.business_id AND health.webhook_id = webhook.id
WHERE webhook.business_id = ANY (?businesses)
    AND (
        health.failing_since IS NOT NULL
        OR NOT webhook.active
        AND (
            webhook.disabled_reason <> ''
            OR EXISTS (SELECT 1 FROM delivery_queue queue WHERE queue.webhook_id = webhook.id)
        )
        OR EXISTS (
            SELECT
            FROM deliveries delivery
            WHERE delivery.business_id = webhook.business_id
                AND delivery.webhook_id = webhook.id
                AND delivery.state = 'failed'
                AND delivery.id >= ?first
        )
    )
ORDER BY
    row_number() OVER (
        PARTITION BY webhook.business_id
        ORDER BY webhook.active AND health.failing_since IS NULL, webhook.id
    ),
    webhook.active AND health.failing_since IS NULL,
    webhook.id
LIMIT ?limit

-- name: add_counts
-- Adds counts of attempts in the order of the key, so that two replicas do not deadlock.
INSERT INTO attempt_counts AS known (business_id, grain, at, webhook_id, accepted, refused, took_us, slow_us)
SELECT *
FROM unnest(
    ?businesses::bigint[],
    ?grains::int[],
    ?at::timestamptz[],
    ?webhooks::bigint[],
    ?accepted::bigint[],
    ?refused::bigint[],
    ?took::bigint[],
    ?slow::bigint[]
) AS counted (business, grain, at, webhook)
ORDER BY business, grain, at, webhook
ON CONFLICT (business_id, grain, at, webhook_id) DO UPDATE
SET
    accepted = known.accepted + excluded.accepted,
    refused = known.refused + excluded.refused,
    took_us = known.took_us + excluded.took_us,
    slow_us = greatest(known.slow_us, excluded.slow_us)

-- name: add_health
-- Adds the latest outcomes of webhooks. Attempts that started before the URL or headers last changed do not count.
INSERT INTO endpoint_health AS known (
    business_id, webhook_id, accepted_at, refused_at, failing_since, status, error_class, error, delivery_id
)
SELECT
    business,
    webhook,
    CASE WHEN accepted >= since THEN accepted END,
    CASE WHEN refused >= since THEN refused END,
    CASE
        WHEN failing >= since THEN failing
        WHEN refused >= since AND failing > '-infinity' THEN refused
    END,
    status,
    class,
    error,
    delivery
FROM unnest(
    ?businesses::bigint[],
    ?webhooks::bigint[],
    ?accepted::timestamptz[],
    ?refused::timestamptz[],
    ?failing::timestamptz[],
    ?statuses::smallint[],
    ?classes::text[],
    ?errors::text[],
    ?deliveries::uuid[]
) AS change (business, webhook, accepted, refused, failing, status, class, error, delivery)
CROSS JOIN LATERAL (
    SELECT coalesce(
        (
            SELECT health.anew_at
            FROM endpoint_health health
            WHERE health.business_id = business AND health.webhook_id = webhook
        ),
        '0001-01-01'
    ) AS since
) changed
ORDER BY business, webhook
ON CONFLICT (business_id, webhook_id) DO UPDATE
SET
    accepted_at = greatest(known.accepted_at, excluded.accepted_at),
    refused_at = greatest(known.refused_at, excluded.refused_at),
    failing_since = least(
        CASE
            WHEN excluded.accepted_at IS NULL OR excluded.accepted_at < known.failing_since THEN known.failing_since
        END,
        CASE
            WHEN known.accepted_at IS NULL OR known.accepted_at < excluded.failing_since THEN excluded.failing_since
        END
    ),
    status = CASE WHEN excluded.refused_at IS NULL THEN known.status ELSE excluded.status END,
    error_class = CASE WHEN excluded.refused_at IS NULL THEN known.error_class ELSE excluded.error_class END,
    error = CASE WHEN excluded.refused_at IS NULL THEN known.error ELSE excluded.error END,
    delivery_id = CASE WHEN excluded.refused_at IS NULL THEN known.delivery_id ELSE excluded.delivery_id END
WHERE known.anew_at IS NULL OR greatest(excluded.accepted_at, excluded.refused_at) >= known.anew_at

-- name: change_token
-- A text that differs after a change: of the latest jobs, the attempts, the latest orders and calls, webhooks,
-- rejected orders, publications and the audit trail.
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
        SELECT sum(accepted + refused)
        FROM attempt_counts
        WHERE business_id = ?business AND grain = 3600 AND at >= ?hour AND webhook_id = 0
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
    (SELECT max(last_at) FROM refused_orders WHERE business_id = ?business),
    (SELECT max(settled_at) FROM publications WHERE business_id = ?business),
    (
        SELECT max(entry.id::text)
        FROM (SELECT id FROM audit WHERE business_id = ?business ORDER BY id DESC LIMIT 1) entry
    )
)
