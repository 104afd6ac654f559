-- name: store_rejected
-- Stores rejected orders. A repeated rejection increases the counter. Each gets a time later than all before it,
-- because list cursors are times and the clocks of replicas differ.
INSERT INTO rejected_orders AS stored (
    business_id, platform, platform_order_id, store, reason, hub_fault, rejections, first_at, last_at
)
SELECT business, platform, ref, store, reason, hub_fault, rejections, at, at
FROM (
    SELECT greatest(?now, max(last_at) + interval '1 microsecond') AS earliest
    FROM rejected_orders
    WHERE business_id = ANY(?businesses::bigint[])
) before
CROSS JOIN unnest(
    ?businesses::bigint[],
    ?platforms::text[],
    ?refs::text[],
    ?stores::text[],
    ?reasons::text[],
    ?hub_faults::boolean[],
    ?rejections::bigint[]
) WITH ORDINALITY AS rejected (business, platform, ref, store, reason, hub_fault, rejections, number)
CROSS JOIN LATERAL (SELECT before.earliest + (number - 1) * interval '1 microsecond' AS at) moment
ON CONFLICT (business_id, platform, platform_order_id) DO UPDATE
SET
    store = excluded.store,
    reason = excluded.reason,
    hub_fault = excluded.hub_fault,
    rejections = stored.rejections + excluded.rejections,
    last_at = excluded.last_at

-- name: drop_rejected
-- Deletes all but the latest rejected orders of businesses.
DELETE FROM rejected_orders rejected
USING unnest(?businesses::bigint[]) AS business (id)
WHERE rejected.business_id = business.id
    AND rejected.last_at <= (
        SELECT last_at
        FROM rejected_orders
        WHERE business_id = business.id
        ORDER BY last_at DESC
        OFFSET ?most
        LIMIT 1
    )
