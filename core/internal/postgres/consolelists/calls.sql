-- name: call_columns
-- The columns of the rows call and queued.
call.id,
call.kind,
call.platform,
call.payload,
call.actor,
call.state,
CASE WHEN call.state = 'waiting' THEN coalesce(queued.note, '') ELSE call.message END,
call.result,
call.created_at,
call.finished_at,
CASE WHEN NOT queued.earlier_waits AND queued.attempts > 0 THEN queued.due_at END,
coalesce(queued.earlier_waits, false)

-- name: calls_of_order
-- The calls about an order, and its rider location if sending it failed.
SELECT ?columns
FROM calls call
-- include: queued_row
WHERE call.business_id = ?business AND call.order_id = ?order
UNION ALL
SELECT
    queued.call_id,
    queued.kind,
    queued.platform,
    queued.payload,
    '',
    ?location_state,
    queued.note,
    '',
    queued.received_at,
    NULL,
    CASE WHEN queued.available_at < 'infinity' THEN queued.due_at END,
    false
FROM call_queue queued
WHERE queued.business_id = ?business AND queued.ordering_key = ?location AND queued.note <> ''
ORDER BY 9, 1
LIMIT 1000

-- name: list_calls
-- A page of calls with the status and URL of their last attempt.
SELECT
    ?columns,
    call.order_id,
    coalesce(substring(call.ordering_key FROM '^store:.*/([0-9]+)$')::bigint, 0),
    greatest(call.attempts, coalesce(attempt.n, 0)),
    coalesce(attempt.status, 0),
    coalesce(attempt.url, '')
FROM (
    SELECT *
    FROM calls call
    WHERE call.business_id = ?business ?only
    ORDER BY ?order
    LIMIT ?limit
) call
-- include: queued_row
LEFT JOIN LATERAL (
    SELECT n, status, url
    FROM call_attempts
    WHERE business_id = call.business_id AND call_id = call.id
    ORDER BY n DESC, started_at DESC
    LIMIT 1
) attempt ON true
ORDER BY ?order

-- name: calls_of_store
-- The latest availability calls of a store on each platform, and the latest that opened or closed it there.
SELECT ?columns
FROM platforms platform
CROSS JOIN LATERAL (
    (
        SELECT *
        FROM calls
        WHERE business_id = ?business AND order_id = 0 AND ordering_key = 'store:' || platform.name || '/' || ?store
        ORDER BY sequence DESC
        LIMIT ?limit
    )
    UNION
    SELECT last.*
    FROM store_switches switch
    CROSS JOIN LATERAL (
        SELECT *
        FROM calls
        WHERE business_id = ?business
            AND order_id = 0
            AND ordering_key = 'store:' || platform.name || '/' || ?store
            AND kind = ?store_action
            AND payload::json ->> 'workload' IS NULL
        ORDER BY sequence DESC
        LIMIT 1
    ) last
    WHERE switch.business_id = ?business AND switch.store_id = ?store AND switch.platform = platform.name
) call
-- include: queued_row
WHERE platform.business_id = ?business
ORDER BY 9, 1
