-- name: endpoints
-- Webhooks with their health and the counts of the last day.
SELECT
    webhook.business_id,
    webhook.id,
    webhook.event_type,
    webhook.url,
    webhook.active,
    webhook.disabled_reason,
    webhook.disabled_at,
    webhook.retrial_interval_units,
    webhook.event_type_header,
    webhook.event_type_header_value,
    webhook.header_names,
    webhook.headers_changed_at,
    webhook.created_at,
    webhook.previous_secret_expires_at,
    circuit.probing_since,
    coalesce(circuit.pause_ms, 0) AS pause_ms,
    health.succeeded_at,
    health.failed_at,
    health.failing_since,
    coalesce(health.status, 0) AS status,
    coalesce(health.error_class, '') AS error_class,
    coalesce(health.error, '') AS error,
    coalesce(health.delivery_id, '00000000-0000-0000-0000-000000000000') AS delivery_id,
    queued.held,
    queued.waiting,
    failed.failed_deliveries,
    server.server_succeeded_at,
    EXISTS (
        SELECT
        FROM webhooks other
        WHERE other.business_id = webhook.business_id
            AND other.event_type = webhook.event_type
            AND other.active
            AND other.id <> webhook.id
    ) AS others_active,
    coalesce(counts.succeeded, 0) AS succeeded,
    coalesce(counts.failed, 0) AS failed,
    coalesce(counts.total_us, 0) AS total_us,
    coalesce(counts.max_us, 0) AS max_us
FROM (?webhooks) webhook
LEFT JOIN webhook_health health ON health.business_id = webhook.business_id AND health.webhook_id = webhook.id
LEFT JOIN endpoint_circuits circuit
    ON circuit.endpoint = webhook.id
    AND circuit.business_id = webhook.business_id
    AND circuit.probing_since IS NOT NULL
-- The attempts of the day.
LEFT JOIN LATERAL (
    SELECT
        sum(succeeded)::bigint AS succeeded,
        sum(failed)::bigint AS failed,
        sum(total_us)::bigint AS total_us,
        max(max_us) AS max_us
    FROM attempt_counts
    WHERE business_id = webhook.business_id
        AND bucket_seconds = 3600
        AND bucket_start >= ?day
        AND webhook_id = webhook.id
) counts ON true
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE held) AS held, count(*) FILTER (WHERE NOT held) AS waiting
    FROM (
        SELECT ?is_held AS held
        FROM delivery_queue delivery
        WHERE delivery.endpoint = webhook.id
        LIMIT ?most
    ) delivery
) queued ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS failed_deliveries
    FROM (
        SELECT
        FROM deliveries delivery
        WHERE delivery.business_id = webhook.business_id
            AND delivery.webhook_id = webhook.id
            AND delivery.state = 'failed'
            AND delivery.finished_at >= ?day
        LIMIT ?most
    ) delivery
) failed ON true
-- For a failing webhook: when its server last accepted a delivery of another one.
LEFT JOIN LATERAL (
    SELECT max(other_health.succeeded_at) AS server_succeeded_at
    FROM webhooks other
    JOIN webhook_health other_health
        ON other_health.business_id = other.business_id AND other_health.webhook_id = other.id
    WHERE health.failing_since IS NOT NULL
        AND other.business_id = webhook.business_id
        AND other.id <> webhook.id
        AND split_part(other.url, '/', 3) = split_part(webhook.url, '/', 3)
) server ON true
ORDER BY webhook.id

-- name: webhooks_with_problems
-- The webhooks that need attention: the failing ones first, and a share for each business.
SELECT webhook.*
FROM webhooks webhook
LEFT JOIN webhook_health health ON health.business_id = webhook.business_id AND health.webhook_id = webhook.id
WHERE webhook.business_id = ANY (?businesses)
    AND (
        health.failing_since IS NOT NULL
        OR NOT webhook.active
        AND (
            webhook.disabled_reason <> ''
            OR EXISTS (SELECT 1 FROM delivery_queue queue WHERE queue.endpoint = webhook.id)
        )
        -- Problems are few, and their time is exact to 10 s. Deliveries have a partition for each day.
        OR EXISTS (
            SELECT
            FROM problems problem
            WHERE problem.business_id = webhook.business_id
                AND problem.last_seen_at >= ?since::timestamptz - interval '1 minute'
                AND webhook.id = ANY (problem.webhooks)
        )
        AND EXISTS (
            SELECT
            FROM deliveries delivery
            WHERE delivery.business_id = webhook.business_id
                AND delivery.webhook_id = webhook.id
                AND delivery.state = 'failed'
                AND delivery.finished_at >= ?since
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
