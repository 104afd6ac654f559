DROP TABLE unwell_endpoints;
ALTER TABLE events DROP COLUMN test;
COMMENT ON COLUMN delivery_queue.available_at IS NULL;
ALTER TABLE delivery_queue DROP COLUMN asked, DROP COLUMN waits, DROP COLUMN place, DROP COLUMN line;
