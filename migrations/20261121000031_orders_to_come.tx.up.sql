-- Orders of later days are kept until those are over, and what tells of them too.

ALTER TABLE orders ADD COLUMN scheduled_for timestamptz; -- when the customer wants it, where that is more than a day after it was placed
CREATE INDEX orders_to_come ON orders (business_id, placed_event) WHERE scheduled_for IS NOT NULL;
