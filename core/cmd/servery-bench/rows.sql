-- Rows that the bench stores without the hub. Those of a history are copies of one that the hub stored.

-- name: history_columns
-- The columns of a table, and their values in a history: ids and times are numbered, others copied.
SELECT string_agg(column_name, ', ' ORDER BY ordinal_position),
    string_agg(CASE
        WHEN column_name::text = ANY (?ids) THEN 'numbered.id'
        WHEN column_name::text = ANY (?times) THEN 'numbered.at'
        ELSE 'pattern.' || column_name
    END, ', ' ORDER BY ordinal_position)
FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = ?table_name

-- name: history_rows
-- The ids ascend with the time, as those of the hub do (RFC 9562, version 7).
INSERT INTO ?day (?columns)
SELECT ?values
FROM (SELECT * FROM ?table LIMIT 1) pattern,
    (SELECT to_timestamp(ms / 1000.0) AS at,
        (lpad(to_hex(ms), 12, '0') || '7000a' || lpad(to_hex(i), 15, '0'))::uuid AS id
    FROM generate_series(1, ?n) i, LATERAL (SELECT ?began::bigint + i::bigint * ?span / (?n + 1) AS ms) m) numbered

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

-- name: floor_order
-- The row of an order, as the floor of order intake stores it.
INSERT INTO floor_orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order, delivery_type,
    flags, events, placed_event, placed_by, created_at, updated_at, record)
VALUES (1, nextval('floor_order_ids'), ?platform, ?platform_order_id, 1, 'Placed', ?bulk, ?delivery_mode, 0, 1,
    gen_random_uuid(), 'key:shop', now(), now(), ?record)
RETURNING id
