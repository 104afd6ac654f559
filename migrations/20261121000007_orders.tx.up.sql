-- Ids come in blocks of 128, so that most batches need not ask for any.
CREATE SEQUENCE order_id_blocks AS bigint START 10001 INCREMENT BY 128;

CREATE TABLE orders (
    business_id       bigint NOT NULL,
    id                bigint NOT NULL,
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    store_id          bigint NOT NULL,
    state             text NOT NULL,
    is_bulk_order     boolean NOT NULL,
    delivery_type     text NOT NULL CHECK (delivery_type IN ('self', 'partner')),
    flags             smallint NOT NULL, -- how many it has
    events            integer NOT NULL,  -- how many it has had; the next one takes the place after
    placed_event      uuid NOT NULL,     -- its body is the order as it was placed, and is kept as long
    placed_by         text NOT NULL,     -- such as key:shop
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, platform, platform_order_id)
) WITH (fillfactor = 90);
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
