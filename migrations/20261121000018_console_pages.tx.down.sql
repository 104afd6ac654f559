ALTER TABLE platforms DROP COLUMN secrets_at;
DROP TABLE plugin_hubs;
ALTER TABLE plugins DROP COLUMN restarts;
COMMENT ON COLUMN call_lines.payload IS NULL;
ALTER TABLE call_attempts DROP COLUMN request_body;
