-- name: store_status
-- The console.StoreStatus of the row store at a local time. The hours are those of core.OpeningHours.
CASE
    WHEN NOT store.active THEN 'inactive'
    WHEN NOT EXISTS (
        SELECT 1
        FROM platforms platform
        WHERE platform.business_id = store.business_id AND ?listed_on
    ) THEN 'unlisted'
    WHEN NOT store.ordering_enabled THEN 'no_orders'
    WHEN NOT EXISTS (
        SELECT 1
        FROM platforms platform
        WHERE platform.business_id = store.business_id AND ?listed_on AND ?sells_on
    ) THEN 'no_items'
    WHEN EXISTS (
        SELECT 1
        FROM store_switches switch
        JOIN platforms platform ON platform.business_id = switch.business_id AND platform.name = switch.platform
        WHERE switch.business_id = store.business_id
            AND switch.store_id = store.id
            AND NOT switch.open
            AND ?listed_on
    ) THEN 'closed'
    WHEN store.hide_from_ui THEN 'hidden'
    WHEN NOT (
        store.hours_hash = 0
        OR open_at(
            store.timings,
            special_slots(store.special_timings, ?local::date - 1),
            ?local::timestamp
        )
    ) THEN 'shut'
    ELSE 'open'
END

-- name: list_stores
-- Stores sorted by ref_id, with the platforms on which they are closed.
SELECT
    store.id,
    store.ref_id,
    store.name,
    store.city,
    store.active,
    store.ordering_enabled,
    store.hide_from_ui,
    store.excluded_platforms,
    store.included_platforms,
    ?status AS status,
    store.updated_at,
    ARRAY(
        SELECT switch.platform
        FROM store_switches switch
        WHERE switch.business_id = store.business_id AND switch.store_id = store.id AND NOT switch.open
        ORDER BY 1
    ) AS closed_on
FROM stores store
WHERE store.business_id = ?business ?only
ORDER BY store.ref_id
LIMIT ?limit

-- name: published_at
-- The publications of stores.
SELECT
    store_id,
    platform,
    state,
    message,
    left_out,
    problems,
    warnings,
    note,
    published_at,
    CASE WHEN available_at < 'infinity' THEN available_at END,
    sent_at,
    sent_deadline,
    sent_task
FROM publications
WHERE business_id = ?business AND store_id = ANY (?stores)

-- name: published_by
-- The publications that a request changed last, by platform and state. Those whose accepted menu has the changes count
-- apart. One that a later request has changed counts for that request.
SELECT
    platform,
    outcome,
    count(*),
    max(CASE WHEN outcome = 'failed' THEN message ELSE note END),
    min(sent_at),
    min(sent_deadline)
FROM (
    SELECT
        platform,
        message,
        note,
        CASE
            WHEN (sent_menu::jsonb -> 'pending_requests') @> to_jsonb(?reference::uuid) THEN sent_at
        END AS sent_at,
        CASE
            WHEN (sent_menu::jsonb -> 'pending_requests') @> to_jsonb(?reference::uuid) THEN sent_deadline
        END AS sent_deadline,
        CASE
            WHEN pending_references @> ARRAY[?reference::uuid]
                OR outcome_reference IS DISTINCT FROM ?reference AND available_at < 'infinity' THEN 'waiting'
            ELSE state
        END AS outcome
    FROM publications
    WHERE business_id = ?business
        AND (reference = ?reference OR outcome_reference = ?reference OR pending_references @> ARRAY[?reference::uuid])
) changed
WHERE outcome IN ('published', 'failed', 'waiting')
GROUP BY platform, outcome, sent_at IS NULL
ORDER BY platform, outcome, sent_at IS NULL
