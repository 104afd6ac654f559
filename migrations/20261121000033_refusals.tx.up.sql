-- Orders that were not taken, for whoever asks why they did not arrive: of each
-- business the latest, repeats counted.
CREATE TABLE refused_orders (
    business_id       bigint NOT NULL REFERENCES businesses (id),
    platform          text NOT NULL, -- as it was named, as what follows; empty where nothing says it
    platform_order_id text NOT NULL,
    store             text NOT NULL, -- the ref_id, or the id that the platform has for it
    reason            text NOT NULL, -- of the last time
    times             bigint NOT NULL,
    first_at          timestamptz NOT NULL,
    last_at           timestamptz NOT NULL, -- no two of a business are the same
    PRIMARY KEY (business_id, platform, platform_order_id)
);
CREATE INDEX refused_orders_by_time ON refused_orders (business_id, last_at);

-- When a platform was last called without a right proof, and what was wrong with it.
ALTER TABLE platforms ADD COLUMN refused_at timestamptz, ADD COLUMN refused_for text NOT NULL DEFAULT '';

SELECT wall_off();
