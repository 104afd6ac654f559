-- name: publish
-- prepare: checked bigint[], epochs text[], snapshots text[], bodies bytea, starts integer[], sizes integer[]
-- prepare: event_businesses bigint[], event_ids uuid[], event_types text[], event_references text[], tests boolean[]
-- prepare: traces text[], event_orders bigint[], event_sequences integer[], businesses bigint[], ids uuid[]
-- prepare: events uuid[], types text[], webhooks bigint[], urls text[], endpoints bigint[], lengths integer[]
-- prepare: ordering_keys bigint[], sequences integer[], due timestamptz[], available timestamptz[], leased boolean[]
-- prepare: owner uuid, manuals boolean[]
-- Stores events and their deliveries, unless a cached value on which they rely is out of date. Returns the positions
-- of the snapshots of such values.
WITH
stale AS MATERIALIZED (
    SELECT checked.position
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
    WHERE NOT EXISTS (SELECT 1 FROM stale)
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
    WHERE NOT EXISTS (SELECT 1 FROM stale)
)
SELECT position FROM stale
