-- Statements for the queues of deliveries, calls and publications.

-- name: endpoints
-- The endpoints of the rows that meet a condition, each with its earliest time. Each takes one index step, however
-- long the queue. The query is the recursive part ?name of a statement.
(SELECT endpoint, available_at FROM ?table WHERE ?condition ORDER BY endpoint, available_at LIMIT 1)
UNION ALL
SELECT following.endpoint, following.available_at
FROM ?name AS before
CROSS JOIN LATERAL (
    SELECT queue.endpoint, queue.available_at
    FROM ?table queue
    WHERE queue.endpoint > before.endpoint AND ?condition
    ORDER BY queue.endpoint, queue.available_at
    LIMIT 1
) following

-- name: has_capacity
-- A condition: the endpoint is not busy, and neither is the plugin that serves the platform of the head.
endpoints.endpoint <> ALL (?busy)
AND NOT (
    cardinality(?plugins::text[]) > 0
    AND EXISTS (
        SELECT 1
        FROM platforms
        WHERE platforms.business_id = head.business_id
            AND platforms.name = head.platform
            AND platforms.served_by = ANY (?plugins::text[])
    )
)

-- name: heads
-- The endpoints with capacity and a due row, the longest waiting first.
SELECT endpoints.endpoint
FROM endpoints
CROSS JOIN LATERAL (
    SELECT available_at, business_id, platform
    FROM ?table
    WHERE endpoint = endpoints.endpoint AND available_at <= ?now AND available_at < 'infinity'
    ORDER BY available_at
    LIMIT 1
) head
WHERE endpoints.available_at <= ?now AND ?has_capacity
ORDER BY head.available_at
LIMIT ?limit

-- name: next_due
-- prepare: endpoints part, has_capacity part, queue part, busy bigint[], plugins text[]
-- The earliest due time in a queue, without busy endpoints and plugins, and the epoch of the clock.
WITH RECURSIVE
endpoints AS (
    ?endpoints
)
SELECT min(head.available_at), (SELECT epoch FROM clock_epoch)
FROM endpoints
CROSS JOIN LATERAL (
    SELECT available_at, business_id, platform
    FROM ?queue
    WHERE endpoint = endpoints.endpoint AND available_at < 'infinity'
    ORDER BY available_at
    LIMIT 1
) head
WHERE ?has_capacity
