-- What order retries send again, until they have told how it went.
CREATE TABLE order_resends (
    business_id bigint NOT NULL,
    reference   uuid NOT NULL,          -- of the request
    delivery_id uuid NOT NULL,
    state       smallint NOT NULL,      -- 0 chosen, 1 sent, 2 accepted, 3 not accepted
    before      smallint NOT NULL,      -- attempts at the delivery before it was sent again
    PRIMARY KEY (business_id, reference, delivery_id)
);

-- How often the clock of the database was seen to be set. Replicas move what
-- waits along, and the first to notice does it for all.
CREATE TABLE clock_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint NOT NULL
);
INSERT INTO clock_epoch (epoch) VALUES (1);
