-- name: out_of_stock_reports
-- The reports of items out of stock of an order, the oldest first, with the state of their calls.
SELECT
    report.reference,
    report.at,
    report.items,
    report.allow_edit,
    report.actor,
    coalesce(call.state, ?done)
FROM out_of_stock_reports report
LEFT JOIN calls call ON call.business_id = report.business_id AND call.id = report.reference
WHERE report.business_id = ?business AND report.order_id = ?order
ORDER BY report.reference

-- name: lock_reported_order
-- Locks the latest order that a report names, by its id or its reference.
SELECT id
FROM orders
WHERE business_id = ?business ?named
ORDER BY created_at DESC, id DESC
LIMIT 1
FOR UPDATE

-- name: reported_order
-- Reads a locked order with its latest event.
SELECT orders.state, orders.platform, coalesce(platform.served_by, 'own'), event.body
FROM orders
JOIN events event
    ON event.business_id = orders.business_id
    -- With row-level security, coalesce could not be an index condition.
    AND event.id = CASE WHEN orders.updated_event IS NULL THEN orders.placed_event ELSE orders.updated_event END
LEFT JOIN platforms platform ON platform.business_id = orders.business_id AND platform.name = orders.platform
WHERE orders.business_id = ?business AND orders.id = ?order
