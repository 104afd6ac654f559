-- name: record_fault
-- Counts faults with the same cause, and keeps the details of the latest.
INSERT INTO plugin_faults AS known (
    plugin_id, cause, kind, ended, call, count, first_at, last_at, version, text, stack, business_id, platform, about
)
VALUES (
    ?plugin, ?cause, ?kind, ?ended, ?call, ?count, ?first, ?last, ?version, ?text, ?stack, ?business, ?platform, ?about
)
ON CONFLICT (plugin_id, cause) DO UPDATE
SET
    count = known.count + excluded.count,
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at),
    version = CASE WHEN excluded.last_at >= known.last_at THEN excluded.version ELSE known.version END,
    text = CASE WHEN excluded.last_at >= known.last_at THEN excluded.text ELSE known.text END,
    stack = CASE WHEN excluded.last_at >= known.last_at THEN excluded.stack ELSE known.stack END,
    business_id = CASE WHEN excluded.last_at >= known.last_at THEN excluded.business_id ELSE known.business_id END,
    platform = CASE WHEN excluded.last_at >= known.last_at THEN excluded.platform ELSE known.platform END,
    about = CASE WHEN excluded.last_at >= known.last_at THEN excluded.about ELSE known.about END

-- name: trim_faults
-- Deletes all but the latest causes of each plugin.
DELETE FROM plugin_faults
WHERE (plugin_id, cause) IN (
    SELECT plugin_id, cause
    FROM (
        SELECT plugin_id, cause, row_number() OVER (PARTITION BY plugin_id ORDER BY last_at DESC, cause) AS n
        FROM plugin_faults
    ) ranked
    WHERE n > ?most
)

-- name: list_faults
-- The causes of faults, the latest first.
SELECT
    kind, call, text, stack, ended, count, first_at, last_at, version, business_id, platform, about
FROM plugin_faults
WHERE plugin_id = ?plugin
ORDER BY last_at DESC, cause

-- name: set_aside
-- Stores a request that is set aside.
INSERT INTO plugin_set_aside (
    plugin_id, build, call, business_id, platform, request, version, store, about, fault, at
)
VALUES (?plugin, ?build, ?call, ?business, ?platform, ?request, ?version, ?store, ?about, ?fault, ?now)
ON CONFLICT DO NOTHING

-- name: trim_set_aside
-- Deletes all but the latest requests of a plugin.
DELETE FROM plugin_set_aside
WHERE plugin_id = ?plugin
    AND id <= (SELECT id FROM plugin_set_aside WHERE plugin_id = ?plugin ORDER BY id DESC OFFSET ?most LIMIT 1)

-- name: is_set_aside
SELECT EXISTS (
    SELECT
    FROM plugin_set_aside
    WHERE plugin_id = ?plugin
        AND build = ?build
        AND call = ?call
        AND business_id = ?business
        AND platform = ?platform
        AND request = ?request
)

-- name: take_set_aside
-- Removes requests from those that are set aside: the given ones, or all of a plugin.
DELETE FROM plugin_set_aside
WHERE plugin_id = ?plugin AND (?all OR id = ANY (?ids::bigint[]))
RETURNING plugin_id, call, business_id, platform, request, store, about

-- name: take_outdated
-- Removes the requests to builds that no hub runs any more, if a hub serves the plugin with another build.
DELETE FROM plugin_set_aside aside
WHERE EXISTS (
        SELECT
        FROM plugin_hubs hub
        WHERE hub.plugin_id = aside.plugin_id
            AND hub.build <> ''
            AND hub.state IN ('ready', 'degraded')
            AND hub.reported_at >= ?since
    )
    AND NOT EXISTS (
        SELECT
        FROM plugin_hubs hub
        WHERE hub.plugin_id = aside.plugin_id AND hub.build = aside.build AND hub.reported_at >= ?since
    )
RETURNING plugin_id, call, business_id, platform, request, store, about

-- name: failed_calls
-- The calls with the ids that failed, without outdated ones. A call is outdated if a later one of its ordering key and
-- kind was sent or waits. So is an acknowledgement before any later call, and an action whose order has ended. A
-- completed order still allows the contact of its customer. A busy store is outdated too: the failure has ended it.
SELECT calls.business_id, calls.id, calls.ordering_key, calls.kind, calls.platform, calls.order_id
FROM unnest(?businesses::bigint[], ?ids::uuid[]) AS wanted (business_id, id)
JOIN calls ON calls.business_id = wanted.business_id AND calls.id = wanted.id
WHERE calls.state = 'failed'
    AND (
        calls.kind <> ?store_action
        OR calls.payload::jsonb #> '{workload,busy}' IS DISTINCT FROM 'true'
    )
    AND (
        calls.kind = ?inbound
        OR NOT EXISTS (
            SELECT 1
            FROM calls later
            WHERE later.business_id = calls.business_id
                AND later.order_id = calls.order_id
                AND later.ordering_key = calls.ordering_key
                AND later.sequence > calls.sequence
                AND later.state <> 'failed'
                AND (later.kind = calls.kind OR calls.kind = ?acknowledgement)
        )
    )
    AND (
        calls.kind <> ?action
        OR EXISTS (
            SELECT 1
            FROM orders
            WHERE orders.business_id = calls.business_id
                AND orders.id = calls.order_id
                AND orders.state <> ?cancelled
                AND (orders.state <> ?completed OR calls.payload::jsonb ->> 'action' = ?contact)
        )
    )
ORDER BY calls.business_id, calls.ordering_key, calls.sequence

-- name: retry_calls
-- Lets failed calls wait again.
UPDATE calls
SET state = 'waiting', message = '', retried_at = ?now, finished_at = NULL
FROM unnest(?businesses::bigint[], ?ids::uuid[]) AS wanted (business_id, id)
WHERE calls.business_id = wanted.business_id AND calls.id = wanted.id AND calls.state = 'failed'
