CREATE SEQUENCE order_ids AS bigint START 10001;

CREATE TABLE orders (
    business_id       bigint NOT NULL,
    id                bigint NOT NULL,
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    store_id          bigint NOT NULL,
    state             text NOT NULL,
    is_bulk_order     boolean NOT NULL,
    delivery_type     text NOT NULL CHECK (delivery_type IN ('self', 'partner')),
    flags             smallint NOT NULL, -- how many stand in the record
    events            integer NOT NULL,  -- how many it has had; the next one takes the place after
    placed_event      uuid NOT NULL,
    placed_by         text NOT NULL,     -- such as key:shop
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    record            bytea NOT NULL,    -- JSON of the order as placed, Zstandard-packed when large
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, platform, platform_order_id)
) WITH (fillfactor = 90);
ALTER TABLE orders ALTER COLUMN record SET STORAGE EXTERNAL; -- packed already
CREATE INDEX orders_by_time ON orders (business_id, created_at, id);

-- What became of an order after it was placed.
CREATE TABLE order_states (
    business_id    bigint NOT NULL,
    order_id       bigint NOT NULL,
    n              integer NOT NULL, -- 1 is the first after Placed
    state          text NOT NULL,
    at             timestamptz NOT NULL,
    message        text NOT NULL,
    reason_code    text NOT NULL,
    prep_time_mins integer,
    actor          text NOT NULL, -- such as key:pos
    PRIMARY KEY (business_id, order_id, n)
);
