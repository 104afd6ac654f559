-- name: unrouted_events
-- The event types with unrouted events and without an active webhook, the latest first. The webhook is the one that
-- was paused or disabled last.
SELECT
    unrouted.business_id AS business,
    unrouted.event_type,
    unrouted.count,
    unrouted.at,
    coalesce(latest.id, 0) AS webhook,
    coalesce(latest.disabled_reason, '') AS disabled_reason
FROM unrouted_events unrouted
LEFT JOIN LATERAL (
    SELECT webhook.id, webhook.disabled_reason
    FROM webhooks webhook
    WHERE webhook.business_id = unrouted.business_id AND webhook.event_type = unrouted.event_type
    ORDER BY webhook.updated_at DESC, webhook.id DESC
    LIMIT 1
) latest ON true
WHERE unrouted.business_id = ANY (?businesses)
    AND unrouted.at >= ?since
    AND unrouted.event_type <> ?except
    AND NOT EXISTS (
        SELECT 1
        FROM webhooks webhook
        WHERE webhook.business_id = unrouted.business_id
            AND webhook.event_type = unrouted.event_type
            AND webhook.active
    )
ORDER BY unrouted.at DESC
LIMIT ?limit

-- name: silent_stores
-- The longest silent store of each business, and the number of its silent stores.
SELECT DISTINCT ON (presence.business_id)
    presence.business_id AS business,
    count(*) OVER (PARTITION BY presence.business_id) AS count,
    presence.store_id,
    store.name AS store,
    presence.silent_since AS since
FROM pos_presence presence
JOIN stores store ON store.business_id = presence.business_id AND store.id = presence.store_id
WHERE presence.business_id = ANY (?businesses) AND presence.silent_since IS NOT NULL
ORDER BY presence.business_id, presence.silent_since
LIMIT ?limit

-- name: failed_menus
-- The platforms with failed publications, and the latest message of each.
SELECT
    platform.business_id AS business,
    platform.name AS platform,
    platform.served_by,
    count(*) AS count,
    (array_agg(publication.message ORDER BY publication.settled_at DESC NULLS LAST))[1] AS message
FROM publications publication
JOIN platforms platform
    ON platform.business_id = publication.business_id
    AND platform.name = publication.platform
    AND platform.served_by <> ?own
WHERE publication.business_id = ANY (?businesses) AND publication.state = 'failed'
GROUP BY platform.business_id, platform.name, platform.served_by
ORDER BY 4 DESC, 1, 2
LIMIT ?limit

-- name: closed_stores
-- The store of each business that was closed last on a platform that lists it, and the number of such stores. Those
-- that take no orders have another reason.
SELECT DISTINCT ON (closed.business_id)
    closed.business_id AS business,
    count(*) OVER (PARTITION BY closed.business_id) AS count,
    closed.store_id,
    store.name AS store,
    closed.platform,
    closed.actor,
    closed.at AS since
FROM (
    SELECT DISTINCT ON (switch.business_id, switch.store_id) switch.*
    FROM store_switches switch
    JOIN stores store ON store.business_id = switch.business_id AND store.id = switch.store_id
    JOIN platforms platform ON platform.business_id = switch.business_id AND platform.name = switch.platform
    WHERE switch.business_id = ANY (?businesses)
        AND NOT switch.open
        AND store.active
        AND store.ordering_enabled
        AND ?listed_on
    ORDER BY switch.business_id, switch.store_id, switch.at DESC
) closed
JOIN stores store ON store.business_id = closed.business_id AND store.id = closed.store_id
ORDER BY closed.business_id, closed.at DESC
LIMIT ?limit

-- name: rejected_orders
-- The number of recently rejected orders of each business that have not arrived since, and the latest reason. A row
-- without an order id counts each of its requests.
SELECT
    rejected.business_id AS business,
    rejected.hub_fault,
    sum(CASE WHEN rejected.platform_order_id = '' THEN rejected.rejections ELSE 1 END)::bigint AS count,
    max(rejected.last_at) AS at,
    (array_agg(rejected.reason ORDER BY rejected.last_at DESC))[1] AS reason
FROM rejected_orders rejected
WHERE rejected.business_id = ANY (?businesses)
    AND rejected.last_at >= ?since
    AND NOT EXISTS (
        SELECT
        FROM orders
        WHERE orders.business_id = rejected.business_id
            AND orders.platform = rejected.platform
            AND orders.platform_order_id = rejected.platform_order_id
    )
GROUP BY rejected.business_id, rejected.hub_fault
ORDER BY rejected.hub_fault DESC, 4 DESC
LIMIT ?limit

-- name: unnotified_orders
-- The latest orders of each business that no active webhook received, up to a maximum number.
SELECT
    business.id,
    orders.count,
    orders.first,
    orders.last,
    EXISTS (
        SELECT 1
        FROM webhooks webhook
        WHERE webhook.business_id = business.id AND webhook.event_type = ?event_type AND webhook.active
    )
FROM unnest(?businesses::bigint[]) AS business (id)
CROSS JOIN LATERAL (
    SELECT count(*), min(created_at) AS first, max(created_at) AS last
    FROM (
        SELECT created_at
        FROM orders
        WHERE business_id = business.id AND unnotified AND created_at >= ?since AND state = ?placed
        ORDER BY created_at DESC, id DESC
        LIMIT ?most
    ) unnotified
) orders
WHERE orders.count > 0
ORDER BY orders.last DESC
LIMIT ?limit

-- name: failed_calls
-- The latest failed calls of each business, up to a maximum number, counted by platform and kind, with the latest
-- message. Those of one platform stand together.
SELECT
    failed.business,
    failed.platform,
    coalesce(platform.served_by, ''),
    failed.kind,
    failed.count,
    failed.orders,
    failed.at,
    last.message,
    coalesce(attempt.status, 0)
FROM (
    SELECT
        business.id AS business,
        latest.platform,
        latest.kind,
        count(*),
        bool_or(latest.order_id <> 0) AS orders,
        max(latest.finished_at) AS at
    FROM unnest(?businesses::bigint[]) AS business (id)
    CROSS JOIN LATERAL (
        SELECT platform, kind, order_id, finished_at
        FROM calls
        WHERE business_id = business.id AND state = 'failed' AND finished_at >= ?since
        ORDER BY finished_at DESC
        LIMIT ?most
    ) latest
    GROUP BY 1, 2, 3
) failed
LEFT JOIN platforms platform ON platform.business_id = failed.business AND platform.name = failed.platform
CROSS JOIN LATERAL (
    SELECT id, message
    FROM calls
    WHERE calls.business_id = failed.business
        AND calls.state = 'failed'
        AND calls.finished_at = failed.at
        AND calls.platform = failed.platform
        AND calls.kind = failed.kind
    LIMIT 1
) last
-- The attempt whose response the message is about.
LEFT JOIN LATERAL (
    SELECT status
    FROM call_attempts
    WHERE call_attempts.business_id = failed.business
        AND call_attempts.call_id = last.id
        AND call_attempts.error = last.message
    ORDER BY n DESC
    LIMIT 1
) attempt ON true
ORDER BY max(failed.at) OVER (PARTITION BY failed.business, failed.platform) DESC, 1, 2, failed.count DESC, failed.kind

-- name: jobs_with_failures
-- The latest job of each business with at least half of its objects refused, and the number of such jobs.
SELECT DISTINCT ON (business_id)
    business_id,
    count(*) OVER (PARTITION BY business_id),
    id,
    kind,
    subject,
    failures,
    total
FROM (
    SELECT
        business_id,
        id,
        kind,
        subject,
        total,
        coalesce(
            (result ->> 'errors')::int,
            (SELECT sum((stat.value ->> 'errors')::int) FROM jsonb_each(result -> 'stats') stat)
        ) AS failures
    FROM jobs
    WHERE business_id = ANY (?businesses) AND id >= ?first AND ?has_refusals
    ORDER BY id DESC
    LIMIT ?most
) latest
WHERE failures * 2 >= total
ORDER BY business_id, id DESC
LIMIT ?limit

-- name: failed_week
-- The number of days on which jobs had failed objects, the number of these jobs, and the latest of them.
SELECT
    count(*) FILTER (WHERE found.count > 0),
    coalesce(sum(found.count), 0),
    (array_agg(found.latest ORDER BY day.first DESC) FILTER (WHERE found.count > 0))[1]
FROM unnest(?starts::uuid[], ?ends::uuid[]) AS day (first, next)
CROSS JOIN LATERAL (
    SELECT count(*), (array_agg(job.id ORDER BY job.id DESC))[1] AS latest
    FROM (
        SELECT id
        FROM jobs
        WHERE business_id = ?business AND id >= day.first AND id < day.next AND ?has_refusals
        ORDER BY id DESC
        LIMIT ?most
    ) job
) found
