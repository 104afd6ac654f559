-- Riders of orders, the calls to aggregators, and the secrets by which
-- aggregators call the hub.

CREATE TABLE rider_statuses (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    n           integer NOT NULL, -- 1 is the first
    status      text NOT NULL,
    at          timestamptz NOT NULL,
    rider_name  text NOT NULL,    -- '' while not known
    rider_phone text NOT NULL,
    actor       text NOT NULL,    -- such as key:pos
    call_id     uuid,             -- null: nobody to relay it to
    PRIMARY KEY (business_id, order_id, n)
);

-- What is told to aggregators, one row a call. It is kept as long as its order.
CREATE TABLE calls (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    line        text NOT NULL,    -- its calls go one after the other, by place
    place       bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL,    -- rider_status, action
    platform    text NOT NULL,
    order_id    bigint NOT NULL,
    payload     text NOT NULL,    -- JSON
    actor       text NOT NULL,
    state       text NOT NULL CHECK (state IN ('waiting', 'pending', 'done', 'failed', 'skipped')),
    message     text NOT NULL DEFAULT '', -- why, in plain words
    result      text NOT NULL DEFAULT '', -- what an action brought, such as a phone number
    attempts    smallint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (business_id, id)
) WITH (fillfactor = 80);
CREATE INDEX calls_by_order ON calls (business_id, order_id);
CREATE INDEX calls_waiting ON calls (business_id, line, place) WHERE state = 'waiting';

-- Lines with something to do: one row a line, whatever waits in it, so that the
-- lock on the row keeps the order. A line of locations holds the newest one
-- itself, and stays for a while after it was told, so that no older one follows.
CREATE TABLE call_lines (
    business_id  bigint NOT NULL,
    line         text NOT NULL,
    kind         text NOT NULL,
    platform     text NOT NULL,
    order_id     bigint NOT NULL,
    endpoint     bigint NOT NULL,      -- hash of business and platform: what fairness goes by
    payload      text NOT NULL DEFAULT '', -- of a location: JSON; '' once it was told
    call_id      uuid NOT NULL,        -- of a location: of the newest
    seen_at      timestamptz NOT NULL, -- when the newest came
    version      bigint NOT NULL DEFAULT 1, -- counts what came
    attempts     smallint NOT NULL DEFAULT 0, -- at its first call, finished so far
    due_at       timestamptz NOT NULL,
    available_at timestamptz NOT NULL, -- when a worker may take it: due_at, the end of a lease, or infinity while there is nothing to tell
    owner        uuid,
    note         text NOT NULL DEFAULT '', -- why its first call still waits
    PRIMARY KEY (business_id, line)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX call_lines_available ON call_lines (endpoint, available_at) WHERE available_at < 'infinity';

CREATE TABLE call_attempts (
    business_id      bigint NOT NULL,
    call_id          uuid NOT NULL,
    order_id         bigint NOT NULL,
    n                smallint NOT NULL, -- 1 is the first
    started_at       timestamptz NOT NULL,
    method           text NOT NULL,
    url              text NOT NULL,
    request_headers  text NOT NULL,     -- JSON, secrets masked
    status           smallint NOT NULL, -- 0 when there was no answer
    error_class      text NOT NULL,     -- '' on success
    error            text NOT NULL,     -- in plain words
    response_headers text NOT NULL,     -- JSON
    response_body    bytea NOT NULL,    -- the first 4 KiB
    total_us         integer NOT NULL
) PARTITION BY RANGE (call_id);
CREATE INDEX call_attempts_by_call ON call_attempts (business_id, call_id, n);
CREATE TABLE call_attempts_other PARTITION OF call_attempts DEFAULT;

-- By what aggregators show that they are who they say. Several may live at once.
CREATE TABLE callback_keys (
    secret_hash bytea PRIMARY KEY, -- SHA-256 of 32 random bytes
    business_id bigint NOT NULL REFERENCES businesses (id),
    platform    text NOT NULL,
    created_at  timestamptz NOT NULL
);
