-- name: backlog
-- The amount of waiting work, up to 100,000 rows of each kind.
WITH RECURSIVE
-- The endpoints with queued deliveries: one index step each, however long the queue.
endpoints AS (
    ?endpoints
),
-- The endpoints with due deliveries that are not held: how long the first has waited in seconds, and whether an
-- attempt is running. Leases end soon, so that they are among the first rows that are not due.
waiting AS (
    SELECT
        extract(epoch FROM ?now - head.available_at)::float8 AS age,
        true IN (
            SELECT owner IS NOT NULL
            FROM (
                SELECT owner
                FROM delivery_queue
                WHERE endpoint = endpoints.endpoint AND available_at > ?now AND available_at < 'infinity'
                ORDER BY available_at
                LIMIT 1000
            ) soon
        ) AS busy
    FROM endpoints
    CROSS JOIN LATERAL (
        SELECT available_at
        FROM delivery_queue
        WHERE endpoint = endpoints.endpoint AND available_at <= ?now
        ORDER BY available_at
        LIMIT 1
    ) head
    WHERE endpoints.available_at <= ?now
        AND NOT EXISTS (
            SELECT 1
            FROM endpoint_circuits circuit
            WHERE circuit.endpoint = endpoints.endpoint AND circuit.probing_since IS NOT NULL
        )
        AND NOT EXISTS (
            SELECT 1
            FROM webhooks webhook
            WHERE webhook.id = endpoints.endpoint AND NOT webhook.active
        )
)
SELECT
    -- Jobs, and the age of the oldest one that can run.
    (SELECT count(*) FROM (SELECT 1 FROM job_queue LIMIT 100000) counted),
    (
        SELECT extract(epoch FROM ?now - min(available_at))::float8
        FROM (?job_heads) heads
        WHERE available_at <= ?now
    ),
    -- Due deliveries, the ages of the oldest without and with busy endpoints, later and held ones, open circuits.
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM delivery_queue delivery
            WHERE available_at <= ?now AND NOT ?is_held
            LIMIT 100000
        ) counted
    ),
    (SELECT max(age) FROM waiting WHERE NOT busy),
    (SELECT max(age) FROM waiting),
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM delivery_queue delivery
            WHERE available_at > ?now AND available_at < 'infinity' AND NOT ?is_held
            LIMIT 100000
        ) counted
    ),
    (SELECT count(*) FROM (SELECT 1 FROM delivery_queue delivery WHERE ?is_held LIMIT 100000) counted),
    (SELECT count(*) FROM endpoint_circuits WHERE probing_since IS NOT NULL),
    -- Calls to aggregators, without polls, which stay in the queue. The age of the oldest due one.
    (
        SELECT count(*)
        FROM (SELECT 1 FROM call_queue WHERE available_at < 'infinity' AND kind <> 'poll' LIMIT 100000) counted
    ),
    (
        SELECT extract(epoch FROM ?now - min(due_at))::float8
        FROM call_queue
        WHERE available_at <= ?now AND available_at < 'infinity'
    ),
    -- Orders whose acknowledgement is overdue, and stores whose POS is silent.
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM orders
            WHERE escalated_at IS NOT NULL AND state = ?placed AND created_at > ?since
            LIMIT 100000
        ) counted
    ),
    (SELECT count(*) FROM (SELECT 1 FROM pos_presence WHERE silent_since IS NOT NULL LIMIT 100000) counted),
    -- Menus to publish, and the age of the oldest due one.
    (SELECT count(*) FROM (SELECT 1 FROM publications WHERE available_at < 'infinity' LIMIT 100000) counted),
    (
        SELECT extract(epoch FROM ?now - min(due_at))::float8
        FROM (
            SELECT due_at
            FROM publications
            WHERE available_at <= ?now AND available_at < 'infinity'
            LIMIT 100000
        ) due
    )
