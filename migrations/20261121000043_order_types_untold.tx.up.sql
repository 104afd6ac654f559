-- How an order reaches its customer: a rider brings those of delivery alone. Of what was
-- placed before it is not known here.
ALTER TABLE orders ADD COLUMN order_type text NOT NULL DEFAULT 'delivery';

-- Requests to switch or to publish something of a store that is listed nowhere: nobody
-- is told what became of them, but their references are known.
CREATE TABLE untold_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    reference   uuid NOT NULL,
    PRIMARY KEY (business_id, reference)
);

SELECT wall_off();
