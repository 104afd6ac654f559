-- Orders that were cancelled before they came: a cancellation waits for its order.
CREATE TABLE early_cancellations (
    business_id       bigint NOT NULL REFERENCES businesses (id),
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    reason            text NOT NULL, -- for people
    at                timestamptz NOT NULL,
    PRIMARY KEY (business_id, platform, platform_order_id)
);

-- The requests that led to what is published and were not told its outcome yet, the
-- latest hundred.
ALTER TABLE publications ADD COLUMN waiting uuid[] NOT NULL DEFAULT '{}';

SELECT wall_off();
