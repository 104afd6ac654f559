-- name: stale_values
-- prepare: checked bigint[], epochs text[], snapshots text[]
-- The positions of the snapshots of cached values that are out of date.
stale AS MATERIALIZED (
    SELECT checked.business, checked.position
    FROM unnest(?checked::bigint[], ?epochs::text[], ?snapshots::text[]::pg_snapshot[]) WITH ORDINALITY
        AS checked (business, epoch, snapshot, position)
    WHERE checked.epoch IS DISTINCT FROM (SELECT cache_epoch())
        OR EXISTS (
            SELECT 1
            FROM business_changes change
            WHERE change.business_id IN (checked.business, 0)
                AND change.changed_by >= pg_snapshot_xmin(checked.snapshot)
                AND NOT pg_visible_in_snapshot(change.changed_by, checked.snapshot)
                -- not one of another server, which a restored dump may contain
                AND (
                    change.changed_by < pg_snapshot_xmax(pg_current_snapshot())
                    OR change.changed_by = pg_current_xact_id_if_assigned()
                )
        )
),

-- name: stored_rows
-- prepare: bodies bytea, starts integer[], sizes integer[], event_businesses bigint[], event_ids uuid[]
-- prepare: event_types text[], event_references text[], tests boolean[], traces text[], event_orders bigint[]
-- prepare: event_sequences integer[], businesses bigint[], ids uuid[], events uuid[], types text[], webhooks bigint[]
-- prepare: urls text[], endpoints bigint[], lengths integer[], ordering_keys bigint[], sequences integer[]
-- prepare: due timestamptz[], available timestamptz[], leased boolean[], owner uuid, manuals boolean[]
-- Stores events and their deliveries, but only those of the orders "accepted". Events of no order have order 0.
stored_events AS (
    INSERT INTO events (business_id, id, event_type, body, reference, test, trace, order_id, sequence)
    SELECT
        business,
        id,
        event_type,
        substring(?bodies::bytea FROM body_start FOR body_size),
        reference,
        test,
        nullif(trace, ''),
        nullif(order_id, 0),
        nullif(sequence, 0)
    FROM unnest(
        ?event_businesses::bigint[], ?event_ids::uuid[], ?event_types::text[], ?starts::integer[], ?sizes::integer[],
        ?event_references::text[], ?tests::boolean[], ?traces::text[], ?event_orders::bigint[],
        ?event_sequences::integer[]
    ) AS event (
        business, id, event_type, body_start, body_size, reference, test, trace, order_id, sequence
    )
    WHERE order_id = ANY (ARRAY(SELECT id FROM accepted))
),
stored_deliveries AS (
    INSERT INTO delivery_queue (
        business_id, id, event_id, event_type, webhook_id, url, endpoint, size, ordering_key, sequence, due_at,
        available_at, owner, manual
    )
    SELECT
        business,
        id,
        event,
        event_type,
        nullif(webhook, 0),
        url,
        endpoint,
        size,
        ordering_key,
        sequence,
        due,
        available,
        CASE WHEN leased THEN ?owner::uuid END,
        manual
    FROM unnest(
        ?businesses::bigint[], ?ids::uuid[], ?events::uuid[], ?types::text[], ?webhooks::bigint[], ?urls::text[],
        ?endpoints::bigint[], ?lengths::integer[], ?ordering_keys::bigint[], ?sequences::integer[],
        ?due::timestamptz[], ?available::timestamptz[], ?leased::boolean[], ?manuals::boolean[]
    ) AS delivery (
        business, id, event, event_type, webhook, url, endpoint, size, ordering_key, sequence, due, available, leased,
        manual
    )
    WHERE ordering_key = ANY (ARRAY(SELECT id FROM accepted))
)

-- name: publish
-- Stores events and their deliveries, unless a cached value on which they rely is out of date. Returns the positions
-- of the snapshots of such values.
WITH
-- include: stale_values
accepted AS (
    SELECT DISTINCT id
    FROM unnest(?event_orders::bigint[]) AS event (id)
    WHERE NOT EXISTS (SELECT 1 FROM stale)
),
-- include: stored_rows
SELECT position FROM stale
