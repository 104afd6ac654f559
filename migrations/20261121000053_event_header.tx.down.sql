ALTER TABLE webhooks DROP COLUMN event_type_header, DROP COLUMN event_type_header_value;
