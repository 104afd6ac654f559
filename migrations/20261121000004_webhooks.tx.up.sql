CREATE TABLE webhooks (
    business_id            bigint NOT NULL REFERENCES businesses (id),
    id                     bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    event_type             text NOT NULL,
    url                    text NOT NULL,
    active                 boolean NOT NULL,
    retrial_interval_units text NOT NULL CHECK (retrial_interval_units IN ('minutes', 'seconds')),
    headers                bytea NOT NULL, -- sealed JSON object
    secret                 bytea NOT NULL, -- sealed signing secret
    disabled_reason        text NOT NULL DEFAULT '', -- why the hub switched it off; '' when it did not
    version                bigint NOT NULL DEFAULT 1, -- counts the changes
    created_at             timestamptz NOT NULL,
    updated_at             timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, event_type, url)
);

-- What happened, what became of telling it, and every try. Identifiers are
-- version 7 UUIDs, so a day of them is a range: the three tables are partitioned
-- by the day of the id, and dropped by the day when their time is over.
CREATE TABLE events (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    event_type  text NOT NULL,
    body        bytea NOT NULL, -- JSON as receivers get it, Zstandard-packed when large
    reference   text NOT NULL DEFAULT '',
    PRIMARY KEY (id, business_id)
) PARTITION BY RANGE (id);

-- Deliveries that came to an end. One that is still to do is in delivery_queue.
CREATE TABLE deliveries (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    event_id    uuid NOT NULL,
    event_type  text NOT NULL,
    webhook_id  bigint, -- null: the callback_url of a request
    url         text NOT NULL,
    state       text NOT NULL CHECK (state IN ('delivered', 'failed')),
    attempts    smallint NOT NULL,
    status      smallint NOT NULL,  -- of the last attempt; 0 when there was no answer
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (business_id, id)
) PARTITION BY RANGE (id);

CREATE INDEX deliveries_failed ON deliveries (business_id, id) WHERE state = 'failed';

CREATE TABLE attempts (
    business_id      bigint NOT NULL,
    delivery_id      uuid NOT NULL,
    n                smallint NOT NULL, -- 1 is the first
    started_at       timestamptz NOT NULL,
    url              text NOT NULL,
    request_headers  text NOT NULL, -- JSON, custom values masked
    status           smallint NOT NULL, -- 0 when there was no answer
    error_class      text NOT NULL, -- '' on success
    error            text NOT NULL, -- in plain words
    response_headers text NOT NULL, -- JSON
    response_body    bytea NOT NULL, -- the first 4 KiB
    dns_us           integer NOT NULL, -- microseconds from the start of the attempt; 0 where it did not happen
    connect_us       integer NOT NULL,
    tls_us           integer NOT NULL,
    first_byte_us    integer NOT NULL,
    total_us         integer NOT NULL
) PARTITION BY RANGE (delivery_id);
-- Not unique: an attempt whose lease ran out while it was under way is recorded
-- beside the one that replaced it.
CREATE INDEX attempts_by_delivery ON attempts (business_id, delivery_id, n);

CREATE TABLE events_other PARTITION OF events DEFAULT;
CREATE TABLE deliveries_other PARTITION OF deliveries DEFAULT;
CREATE TABLE attempts_other PARTITION OF attempts DEFAULT;

CREATE TABLE delivery_queue (
    business_id  bigint NOT NULL,
    id           uuid NOT NULL,
    event_id     uuid NOT NULL,
    event_type   text NOT NULL,
    webhook_id   bigint,            -- null: url is the callback_url of a request
    url          text NOT NULL DEFAULT '',
    endpoint     bigint NOT NULL,   -- the webhook, or a negative hash of a callback_url: what fairness goes by
    size         integer NOT NULL,  -- bytes of the body as stored
    attempts     smallint NOT NULL DEFAULT 0, -- finished so far
    base         smallint NOT NULL DEFAULT 0, -- of them, before the schedule was begun anew by hand
    due_at       timestamptz NOT NULL,
    available_at timestamptz NOT NULL, -- when a worker may take it: due_at, the end of a lease, or infinity while held
    owner        uuid,
    PRIMARY KEY (business_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX delivery_queue_available ON delivery_queue (endpoint, available_at);
CREATE INDEX delivery_queue_webhook ON delivery_queue (webhook_id);
