-- name: switch_columns
-- The columns of a switch of the row store on the row platform, without its state.
store.business_id,
store.id,
store.ref_id,
platform.name,
?sent_name,
platform.served_by,
?given_id,
store.active AND store.ordering_enabled

-- name: switch_store
-- Opens or closes a store on platforms. Returns the switches, and whether each state has changed.
WITH
chosen AS (
    SELECT store.business_id, store.id, platform.name
    FROM stores store
    JOIN platforms platform ON platform.business_id = store.business_id
    WHERE store.business_id = ?business AND store.id = ?store AND ?which
),
-- The new state. The condition on the existing row is evaluated once the row is locked.
put AS (
    INSERT INTO store_switches AS switch (
        business_id, store_id, platform, open, source, reason, actor, reference, at, turn_on_at
    )
    SELECT
        business_id,
        id,
        name,
        ?open,
        ?source,
        ?reason,
        ?actor,
        ?reference::uuid,
        ?now::timestamptz,
        ?turn_on_at::timestamptz
    FROM chosen
    ORDER BY name
    ON CONFLICT (business_id, store_id, platform) DO UPDATE
    SET
        open = excluded.open,
        source = excluded.source,
        reason = excluded.reason,
        actor = excluded.actor,
        reference = excluded.reference,
        at = excluded.at,
        turn_on_at = excluded.turn_on_at
    WHERE ?still
    RETURNING switch.*
)
-- The statement sees the switches as they were before it.
SELECT
    ?columns,
    put.open,
    put.source,
    put.reason,
    put.actor,
    put.reference,
    coalesce(earlier.open, true) <> put.open
FROM put
JOIN stores store ON store.business_id = put.business_id AND store.id = put.store_id
JOIN platforms platform ON platform.business_id = put.business_id AND platform.name = put.platform
LEFT JOIN store_switches earlier
    ON earlier.business_id = put.business_id AND earlier.store_id = put.store_id AND earlier.platform = put.platform
ORDER BY platform.name

-- name: lock_presence
-- Locks the presence of the stores whose timers are due.
SELECT
FROM pos_presence
WHERE business_id = ?business
    AND store_id IN (SELECT store_id FROM store_switches WHERE turn_on_at <= ?now AND business_id = ?business)
ORDER BY store_id
FOR SHARE

-- name: turn_on_stores
-- Opens the stores whose timers are due. One that is closed because its POS is silent opens with the next heartbeat.
WITH
due AS (
    SELECT
        business_id,
        store_id,
        platform,
        EXISTS (
            SELECT 1
            FROM pos_presence presence
            WHERE presence.business_id = store_switches.business_id
                AND presence.store_id = store_switches.store_id
                AND presence.closed_for_silence
        ) AS silent
    FROM store_switches
    WHERE turn_on_at <= ?now AND business_id = ?business
    ORDER BY turn_on_at
    LIMIT ?limit
    FOR UPDATE SKIP LOCKED
),
put AS (
    UPDATE store_switches switch
    SET
        open = NOT due.silent,
        turn_on_at = NULL,
        source = CASE WHEN due.silent THEN ?silent ELSE ?source END,
        reason = '',
        at = ?now
    FROM due
    WHERE switch.business_id = due.business_id
        AND switch.store_id = due.store_id
        AND switch.platform = due.platform
    RETURNING switch.*
)
SELECT ?columns, put.open, put.source, put.reason, put.actor, put.reference, true
FROM put
JOIN stores store ON store.business_id = put.business_id AND store.id = put.store_id
JOIN platforms platform ON platform.business_id = put.business_id AND platform.name = put.platform
WHERE put.open
ORDER BY put.business_id, put.store_id, put.platform

-- name: listing_platforms
-- The platforms that list a store, with the versions of its publications.
SELECT ?columns, coalesce(publication.version, 0)
FROM stores store
JOIN platforms platform ON platform.business_id = store.business_id
LEFT JOIN publications publication
    ON publication.business_id = store.business_id
    AND publication.store_id = store.id
    AND publication.platform = platform.name
WHERE store.business_id = ?business AND store.id = ?store AND ?listed_on
ORDER BY platform.name

-- name: ended_switches
-- The condition that an ended call has switched the row store on the row platform and that its menu needs
-- republishing. The call failed, or a menu was published meanwhile. A switch of items has marked its publication, so
-- that newer versions came after it. A switch of a store has not: a publication since then may have read the state
-- before it. So may a menu whose outcome is pending.
(store.business_id, store.id, platform.name) IN (
    SELECT ended.business_id, ended.store_id, ended.platform
    FROM unnest(
        ?businesses::bigint[],
        ?stores::bigint[],
        ?platforms::text[],
        ?versions::bigint[],
        ?at::timestamptz[],
        ?failed::boolean[]
    ) AS ended (business_id, store_id, platform, version, at, failed)
    LEFT JOIN publications marked
        ON marked.business_id = ended.business_id
        AND marked.store_id = ended.store_id
        AND marked.platform = ended.platform
    WHERE ended.failed
        OR ended.version > 0 AND marked.version > ended.version
        OR ended.version = 0
        AND (marked.owner IS NOT NULL OR marked.sent_menu IS NOT NULL OR marked.settled_at >= ended.at)
)

-- name: record_switches
-- Records when items and options were switched.
INSERT INTO item_switches AS stored (business_id, store_id, kind, name, available, at)
SELECT ?business, ?store, switched.kind, switched.name, ?available::boolean, ?now::timestamptz
FROM unnest(?kinds::smallint[], ?names::text[]) AS switched (kind, name)
ON CONFLICT (business_id, store_id, kind, name) DO UPDATE
SET available = excluded.available, at = greatest(stored.at, excluded.at)

-- name: waiting_switches
-- The waiting and pending calls of a request, which were created within a minute, and its publications.
SELECT call.platform, CASE WHEN call.state = 'pending' THEN call.message ELSE coalesce(queued.note, '') END
FROM calls call
-- include: queued_row
WHERE call.business_id = ?business
    AND call.id >= ?first::uuid
    AND call.id < ?last::uuid
    AND call.kind IN (?store_action, ?item_action)
    AND call.state IN ('waiting', 'pending')
    AND call.payload::jsonb ->> 'reference' = ?reference::uuid::text
UNION ALL
SELECT
    platform,
    CASE
        WHEN note = '' AND (sent_menu::jsonb -> 'explicit_requests') @> to_jsonb(?reference::uuid) THEN 'accepted at '
            || to_char(sent_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            || ', waiting for the outcome until '
            || to_char(sent_deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        ELSE note
    END
FROM publications
WHERE business_id = ?business AND ?reference::uuid = ANY (publish_requests)
ORDER BY 1
LIMIT ?limit
