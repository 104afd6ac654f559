-- name: set_workload
-- Sets a store to busy on platforms, or ends that. Returns the platforms, and whether each state has changed.
WITH
chosen AS (
    SELECT store.business_id, store.id, platform.name
    FROM stores store
    JOIN platforms platform ON platform.business_id = store.business_id
    WHERE store.business_id = ?business AND store.id = ?store AND ?which
),
put AS (
    INSERT INTO store_workloads AS workload (
        business_id, store_id, platform, prep_minutes, until_at, actor, reference, at
    )
    SELECT
        business_id,
        id,
        name,
        ?prep_minutes,
        ?until::timestamptz,
        ?actor,
        ?reference::uuid,
        ?now::timestamptz
    FROM chosen
    WHERE ?busy
    ORDER BY name
    ON CONFLICT (business_id, store_id, platform) DO UPDATE
    SET
        prep_minutes = excluded.prep_minutes,
        until_at = excluded.until_at,
        actor = excluded.actor,
        reference = excluded.reference,
        at = excluded.at
),
ended AS (
    DELETE FROM store_workloads workload
    USING chosen
    WHERE NOT ?busy
        AND workload.business_id = chosen.business_id
        AND workload.store_id = chosen.id
        AND workload.platform = chosen.name
)
-- The statement sees the workloads as they were before it.
SELECT
    ?columns,
    ?actor,
    ?reference::uuid,
    CASE
        WHEN ?busy THEN (earlier.store_id, earlier.prep_minutes, earlier.until_at)
            IS DISTINCT FROM (chosen.id, ?prep_minutes, ?until::timestamptz)
        ELSE earlier.store_id IS NOT NULL
    END
FROM chosen
JOIN stores store ON store.business_id = chosen.business_id AND store.id = chosen.id
JOIN platforms platform ON platform.business_id = chosen.business_id AND platform.name = chosen.name
LEFT JOIN store_workloads earlier
    ON earlier.business_id = chosen.business_id AND earlier.store_id = chosen.id AND earlier.platform = chosen.name
ORDER BY platform.name

-- name: end_workloads
-- Ends the workloads that are due.
WITH
due AS (
    SELECT business_id, store_id, platform
    FROM store_workloads
    WHERE until_at <= ?now AND business_id = ?business
    ORDER BY until_at
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
),
ended AS (
    DELETE FROM store_workloads workload
    USING due
    WHERE workload.business_id = due.business_id
        AND workload.store_id = due.store_id
        AND workload.platform = due.platform
    RETURNING workload.*
)
SELECT ?columns, ended.actor, ended.reference, true
FROM ended
JOIN stores store ON store.business_id = ended.business_id AND store.id = ended.store_id
JOIN platforms platform ON platform.business_id = ended.business_id AND platform.name = ended.platform
ORDER BY ended.business_id, ended.store_id, ended.platform

-- name: undo_workloads
-- Restores the workloads that platforms had accepted before calls that failed, unless a later request has set them
-- again.
WITH
undone AS (
    SELECT
        workload.business_id,
        workload.store_id,
        workload.platform,
        workload.reference AS failed_reference,
        (accepted.payload ->> 'reference')::uuid AS reference,
        accepted.payload -> 'workload' AS workload,
        coalesce((accepted.payload -> 'workload' ->> 'busy')::boolean, false) AS busy,
        accepted.actor,
        accepted.created_at
    FROM unnest(?businesses::bigint[], ?calls::uuid[], ?stores::bigint[], ?platforms::text[], ?references::uuid[])
        AS failed (business, call, store, platform, reference)
    JOIN store_workloads workload
        ON workload.business_id = failed.business
        AND workload.store_id = failed.store
        AND workload.platform = failed.platform
        AND workload.reference = failed.reference
    JOIN calls call ON call.business_id = failed.business AND call.id = failed.call
    LEFT JOIN LATERAL (
        SELECT payload::json AS payload, actor, created_at
        FROM calls earlier
        WHERE earlier.business_id = failed.business
            AND earlier.ordering_key = call.ordering_key
            AND earlier.order_id = 0
            AND earlier.sequence < call.sequence
            AND earlier.kind = call.kind
            AND earlier.state IN ('done', 'pending')
            AND earlier.payload::json -> 'workload' IS NOT NULL
        ORDER BY earlier.sequence DESC
        LIMIT 1
    ) accepted ON true
),
restored AS (
    UPDATE store_workloads workload
    SET
        prep_minutes = coalesce((undone.workload ->> 'prep_minutes')::integer, 0),
        until_at = to_timestamp((undone.workload ->> 'until')::bigint / 1000.0),
        actor = undone.actor,
        reference = undone.reference,
        at = undone.created_at
    FROM undone
    WHERE undone.busy
        AND workload.business_id = undone.business_id
        AND workload.store_id = undone.store_id
        AND workload.platform = undone.platform
        AND workload.reference = undone.failed_reference
)
DELETE FROM store_workloads workload
USING undone
WHERE NOT undone.busy
    AND workload.business_id = undone.business_id
    AND workload.store_id = undone.store_id
    AND workload.platform = undone.platform
    AND workload.reference = undone.failed_reference
