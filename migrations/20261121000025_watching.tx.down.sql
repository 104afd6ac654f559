ALTER TABLE pos_presence DROP COLUMN closed;
ALTER TABLE presence_rules
    DROP COLUMN orders_seen_to,
    DROP COLUMN silent_after_s,
    DROP COLUMN ack_within_s;
DROP INDEX revision_parts_by_store;
DROP INDEX revision_parts_by_entity;
