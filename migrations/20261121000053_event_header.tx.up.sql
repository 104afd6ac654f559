-- A further header in which the deliveries of a webhook carry the event type: its name, or its number.
ALTER TABLE webhooks
    ADD COLUMN event_type_header text NOT NULL DEFAULT '',
    ADD COLUMN event_type_header_value text NOT NULL DEFAULT 'name'
        CHECK (event_type_header_value IN ('name', 'number'));
