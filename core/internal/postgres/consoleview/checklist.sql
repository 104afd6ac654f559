-- name: facts
-- The progress of a business. Each fact uses an index and stops at the first match.
WITH
hooks AS (
    SELECT id, event_type, active
    FROM webhooks
    WHERE business_id = ?business
),
-- The latest menu request.
menu AS (
    SELECT id, state, result
    FROM jobs
    WHERE business_id = ?business AND kind = ?menu_job AND NOT dry_run AND state IN ('done', 'failed')
    ORDER BY id DESC
    LIMIT 1
),
-- The latest orders.
recent AS (
    SELECT orders.id, orders.platform, orders.delivery_type, platform.served_by
    FROM orders
    JOIN platforms platform ON platform.business_id = ?business AND platform.name = orders.platform
    WHERE orders.business_id = ?business
    ORDER BY orders.created_at DESC, orders.id DESC
    LIMIT ?latest
),
-- An order whose plugin offers the contact of the customer.
offered AS (
    SELECT id, platform
    FROM recent
    WHERE served_by = ANY (?offering)
    LIMIT 1
)
SELECT
    EXISTS (SELECT FROM api_keys WHERE business_id = ?business AND used_at IS NOT NULL),
    EXISTS (SELECT FROM stores WHERE business_id = ?business),
    EXISTS (SELECT FROM catalogue_entities WHERE business_id = ?business),
    EXISTS (SELECT FROM hooks WHERE active),
    EXISTS (
        SELECT
        FROM hooks
        JOIN webhook_health health ON health.business_id = ?business AND health.webhook_id = hooks.id
        WHERE health.succeeded_at IS NOT NULL
    ),
    EXISTS (
        SELECT
        FROM hooks
        CROSS JOIN LATERAL (
            SELECT event_id, state
            FROM deliveries
            WHERE business_id = ?business AND webhook_id = hooks.id
            ORDER BY id DESC
            LIMIT ?latest
        ) delivery
        WHERE hooks.event_type = ?order_placed
            AND delivery.state = 'delivered'
            AND EXISTS (
                SELECT
                FROM events
                WHERE events.id = delivery.event_id AND events.business_id = ?business AND NOT events.test
            )
    ),
    EXISTS (SELECT FROM jobs WHERE business_id = ?business AND kind = ?order_retry_job),
    EXISTS (SELECT FROM rider_statuses WHERE business_id = ?business),
    EXISTS (SELECT FROM calls WHERE business_id = ?business AND kind = 'action' AND state IN ('done', 'pending')),
    EXISTS (SELECT FROM menu)
        OR EXISTS (
            SELECT FROM jobs
            WHERE business_id = ?business AND kind = ?store_job AND state IN ('done', 'failed')
        ),
    (
        SELECT id
        FROM menu
        WHERE state = 'failed'
            OR EXISTS (
                SELECT
                FROM jsonb_each(result -> 'stats') stat
                WHERE (stat.value ->> 'errors')::bigint > 0
            )
    ),
    coalesce((SELECT ref_id FROM stores WHERE business_id = ?business ORDER BY ref_id LIMIT 1), ''),
    coalesce((SELECT name FROM catalogue_entities WHERE business_id = ?business AND kind = 1 AND active LIMIT 1), ''),
    coalesce((SELECT id FROM recent WHERE delivery_type = 'self' LIMIT 1), 0),
    coalesce((SELECT id FROM offered), 0),
    coalesce((SELECT platform FROM offered), '')
