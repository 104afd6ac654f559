-- Deliveries of one order to one server follow one another; an endpoint that
-- fails is probed; samples are marked as such.

ALTER TABLE delivery_queue
    ADD COLUMN line  bigint NOT NULL DEFAULT 0,      -- order and server (scheme, host, port), hashed; 0: in no line
    ADD COLUMN place integer NOT NULL DEFAULT 0,     -- of the event among those of its order, from 1
    ADD COLUMN waits boolean NOT NULL DEFAULT false, -- behind an earlier row of its line: available_at is infinity
    ADD COLUMN asked boolean NOT NULL DEFAULT false; -- a person asked for the next attempt
COMMENT ON COLUMN delivery_queue.available_at IS
    'when a worker may take it: due_at, the end of a lease, or infinity while it waits or its subscription is switched off';
CREATE INDEX delivery_queue_line ON delivery_queue (business_id, line, place) WHERE line <> 0;
CREATE INDEX delivery_queue_asked ON delivery_queue (endpoint) WHERE asked;

ALTER TABLE events ADD COLUMN test boolean NOT NULL DEFAULT false; -- a sample, sent on request

-- Endpoints whose last attempt found them unwell; one that is well has no row.
CREATE TABLE unwell_endpoints (
    business_id   bigint NOT NULL,
    endpoint      bigint NOT NULL,      -- as in delivery_queue
    failures      integer NOT NULL,     -- attempts in a row that found it unwell
    since         timestamptz NOT NULL, -- when the first of them began
    at            timestamptz NOT NULL, -- when the last of them was recorded
    status        smallint NOT NULL,    -- of the last; 0 when there was no answer
    error         text NOT NULL,        -- of the last, in plain words
    probing_since timestamptz,          -- null: deliveries go on as usual
    next_probe    timestamptz,          -- or the end of the lease of the probe under way
    pause_ms      integer NOT NULL DEFAULT 0, -- between the last probe and the next
    PRIMARY KEY (endpoint, business_id)
) WITH (fillfactor = 50);
