-- Events know their order and their place among those of it, so that what is sent
-- again takes that place once more. What was published before knows of none.
ALTER TABLE events
    ADD COLUMN order_id bigint,  -- null: it tells of no order
    ADD COLUMN place    integer; -- from 1
CREATE INDEX events_of_order ON events (business_id, order_id) WHERE order_id IS NOT NULL;

-- A line is an order; which of its deliveries follow one another depends on where their
-- webhooks point at the time.
COMMENT ON COLUMN delivery_queue.line IS 'the order; 0: of none';
ALTER TABLE webhooks ADD COLUMN server text GENERATED ALWAYS AS ( -- scheme, host and port, unless that is usual
    regexp_replace(lower(substring(url FROM '^[A-Za-z]+://[^/?#]+')), '^(http://.*[^:]):(80)?$|^(https://.*[^:]):(443)?$', '\1\3')) STORED;

-- An order that several webhooks refused is one order.
ALTER TABLE order_resends ADD COLUMN event_id uuid;
