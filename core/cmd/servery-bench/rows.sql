-- Rows that the bench stores without the hub. Those of a history are copies of one that the hub stored.

-- name: history_rows
-- Ended deliveries of a day, their events or their attempts. Ids and times are numbered, and other columns copied. The
-- ids ascend with the time, as those of the hub do (RFC 9562, version 7).
DO $history$
DECLARE
    filled record;
BEGIN
    SELECT string_agg(column_name, ', ' ORDER BY ordinal_position) AS names,
        string_agg(CASE
            WHEN column_name = ANY (numbered.ids) THEN 'numbered.id'
            WHEN column_name = numbered.time THEN 'numbered.at'
            ELSE 'pattern.' || column_name
        END, ', ' ORDER BY ordinal_position) AS contents
    INTO filled
    FROM (VALUES ('events', '{id}'::text[], NULL), ('deliveries', '{id,event_id}', 'finished_at'),
        ('attempts', '{delivery_id}', 'started_at')) numbered (name, ids, time)
    JOIN information_schema.columns ON table_name = numbered.name AND table_schema = 'public'
    WHERE numbered.name = ?table;

    EXECUTE format($insert$
        INSERT INTO %1$I (%2$s)
        SELECT %3$s
        FROM (SELECT * FROM %1$I LIMIT 1) pattern,
            (SELECT to_timestamp(ms / 1000.0) AS at,
                (lpad(to_hex(ms), 12, '0') || '7000a' || lpad(to_hex(i), 15, '0'))::uuid AS id
            FROM generate_series(1, $1) i, LATERAL (SELECT $2 + i::bigint * $3 / ($1 + 1) AS ms) m) numbered
        $insert$, ?table, filled.names, filled.contents)
    USING ?n, ?began::bigint, ?span::bigint;
END
$history$

-- name: other_stores
-- Stores that sell what one store of a business sells.
INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active, ordering_enabled, created_at,
    updated_at)
SELECT business_id, nextval('store_ids'), 'other-' || n, city, name, hide_from_ui, active, ordering_enabled,
    created_at, updated_at
FROM stores, generate_series(1, ?n) n
WHERE business_id = ?business AND ref_id = ?pattern;

INSERT INTO store_overrides (business_id, store_id, kind, id, content)
SELECT a.business_id, other.id, a.kind, a.id, a.content
FROM stores s
JOIN store_overrides a ON a.business_id = s.business_id AND a.store_id = s.id
JOIN stores other ON other.business_id = s.business_id AND other.ref_id LIKE 'other-%'
WHERE s.business_id = ?business AND s.ref_id = ?pattern
ORDER BY other.id, a.kind, a.id;

INSERT INTO menu_versions (business_id, store_id, version)
SELECT business_id, id, 1
FROM stores
WHERE business_id = ?business AND ref_id LIKE 'other-%';

-- name: job_outcome
-- How many milliseconds a finished job took, and how many objects it created, updated and refused. The result of a menu
-- counts by kind.
SELECT 1000 * extract(epoch FROM finished_at - created_at), sum(coalesce((counts->>'created')::int, 0)),
    sum(coalesce((counts->>'updated')::int, 0)), sum(coalesce((counts->>'errors')::int, 0))
FROM jobs, LATERAL (SELECT result UNION ALL SELECT value FROM jsonb_each(result->'stats')) parts (counts)
WHERE business_id = ?business AND id = ?reference AND state = 'done'
GROUP BY business_id, id

-- name: closed_stores
-- The stores of a business are closed on a platform until a time.
INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at, turn_on_at)
SELECT business_id, id, ?platform, false, 'api', '', 'bench', gen_random_uuid(), now(), ?until
FROM stores
WHERE business_id = ?business

-- name: failed_queue
-- All queued deliveries of a business have failed.
WITH over AS (
    DELETE FROM delivery_queue
    WHERE business_id = ?business
    RETURNING *
)
INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at)
SELECT business_id, id, event_id, event_type, webhook_id, ?url, 'failed', ?attempts, 500, now()
FROM over

-- name: floor_columns
-- The columns that the floor writes to a table, and what a merge sets of them.
SELECT string_agg(column_name, ', '),
    string_agg(column_name || ' = excluded.' || column_name, ', ') FILTER (WHERE NOT column_name::text = ANY (?keys))
FROM information_schema.columns
WHERE table_name = ?table_name AND column_name <> 'business_id' AND is_generated = 'NEVER'

-- name: floor_tables
CREATE TABLE IF NOT EXISTS floor_orders (LIKE orders INCLUDING ALL, record bytea NOT NULL);

CREATE SEQUENCE IF NOT EXISTS floor_order_ids;

-- name: floor_order
-- The row of an order, as the floor of order intake stores it.
INSERT INTO floor_orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order, delivery_type,
    flags, events, placed_event, placed_by, created_at, updated_at, record)
VALUES (1, nextval('floor_order_ids'), ?platform, ?platform_order_id, 1, 'Placed', ?bulk, ?delivery_mode, 0, 1,
    gen_random_uuid(), 'key:shop', now(), now(), ?record)
RETURNING id
