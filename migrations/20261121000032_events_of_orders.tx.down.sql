ALTER TABLE order_resends DROP COLUMN event_id;
ALTER TABLE webhooks DROP COLUMN server;
COMMENT ON COLUMN delivery_queue.line IS NULL;
DROP INDEX events_of_order;
ALTER TABLE events DROP COLUMN place, DROP COLUMN order_id;
