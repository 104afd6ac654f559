-- Webhooks, and the events that are delivered to them.

CREATE TABLE webhooks (
    business_id                  bigint NOT NULL REFERENCES businesses (id),
    id                           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    event_type                   text NOT NULL,
    url                          text NOT NULL,
    -- Scheme, host and port, unless that is the default port. Deliveries of an order to one server
    -- are in sequence.
    server                       text GENERATED ALWAYS AS (
        regexp_replace(lower(substring(url FROM '^[A-Za-z]+://[^/?#]+')),
            '^(http://.*[^:]):(80)?$|^(https://.*[^:]):(443)?$', '\1\3')) STORED,
    active                       boolean NOT NULL,
    retrial_interval_units       text NOT NULL CHECK (retrial_interval_units IN ('minutes', 'seconds')),
    headers                      bytea NOT NULL,           -- sealed JSON object
    header_names                 text[] NOT NULL DEFAULT '{}', -- of the headers, sorted
    headers_changed_at           timestamptz,              -- null: since its creation never
    event_type_header            text NOT NULL DEFAULT '', -- that carries the event type; '': none
    event_type_header_value      text NOT NULL DEFAULT 'name'
        CHECK (event_type_header_value IN ('name', 'number')), -- what it carries
    secret                       bytea NOT NULL,           -- sealed signing secret
    -- The two secrets before it also sign until they expire, like those of businesses.
    previous_secret              bytea,                    -- sealed; null: none
    previous_secret_expires_at   timestamptz,
    previous_secret_2            bytea,                    -- sealed; null: none
    previous_secret_2_expires_at timestamptz,
    disabled_reason              text NOT NULL DEFAULT '', -- why the hub disabled it; '' if it did not
    disabled_at                  timestamptz,              -- since when it is not active; null: it is active
    version                      bigint NOT NULL DEFAULT 1, -- counts the changes
    created_at                   timestamptz NOT NULL,
    updated_at                   timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, event_type, url)
);

SELECT watch_business_changes('webhooks');

-- Events, their ended deliveries, and each attempt. Ids are version 7 UUIDs, so a day is a range of ids. The tables
-- have a partition for each day. A day past the retention is dropped as a whole.
CREATE TABLE events (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    event_type  text NOT NULL,
    body        bytea NOT NULL,                 -- the JSON that receivers get, compressed when large
    reference   text NOT NULL DEFAULT '',
    order_id    bigint,                         -- null: not about an order
    sequence    integer,                        -- position among the events of the order, from 1
    test        boolean NOT NULL DEFAULT false, -- a sample, sent on request
    trace       text,                           -- traceparent; null: none
    PRIMARY KEY (id, business_id)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_reference ON events (business_id, reference) WHERE reference <> '';
CREATE INDEX events_of_order ON events (business_id, order_id) WHERE order_id IS NOT NULL;

-- Failed deliveries with one cause: the server, the class of the error and the response status. A row remains while
-- its deliveries do.
CREATE TABLE problems (
    business_id   bigint NOT NULL REFERENCES businesses (id),
    id            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    server        text NOT NULL,            -- host and port of the URL
    error_class   text NOT NULL,            -- of the last attempts
    status        smallint NOT NULL,        -- of their responses; 0 without one
    webhooks      bigint[] NOT NULL,        -- that have failed, sorted; 0: a callback_url
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,     -- to about 10 s, so that failing deliveries do not wait for this row
    state         text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'acknowledged', 'resolved')),
    changed_by    text NOT NULL DEFAULT '', -- who last acknowledged, resolved or reopened it
    changed_at    timestamptz,
    reopened_at   timestamptz,              -- when it failed again after changed_by had resolved it; null: never
    assignee      text NOT NULL DEFAULT '', -- email address; '': none
    note          text NOT NULL DEFAULT '', -- the latest
    PRIMARY KEY (business_id, server, error_class, status)
);
CREATE INDEX problems_by_time ON problems (business_id, last_seen_at, id);
CREATE INDEX problems_of_all_by_time ON problems (last_seen_at, id);

-- Ended deliveries. Unfinished ones are in delivery_queue.
CREATE TABLE deliveries (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    event_id    uuid NOT NULL,
    event_type  text NOT NULL,
    webhook_id  bigint,            -- null: the callback_url of a request
    url         text NOT NULL,
    state       text NOT NULL CHECK (state IN ('delivered', 'failed')),
    attempts    smallint NOT NULL,
    status      smallint NOT NULL, -- of the last attempt; 0 without a response
    finished_at timestamptz NOT NULL,
    problem_id  bigint,            -- of a failed one; null also if it had no attempt
    PRIMARY KEY (business_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX deliveries_of_problem ON deliveries (business_id, problem_id, id) WHERE problem_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (business_id, id) WHERE state = 'failed';
CREATE INDEX deliveries_failed_at ON deliveries (business_id, finished_at, id) WHERE state = 'failed';
CREATE INDEX deliveries_of_webhook ON deliveries (business_id, webhook_id, id);
CREATE INDEX deliveries_failed_of_webhook ON deliveries (business_id, webhook_id, id) WHERE state = 'failed';
CREATE INDEX deliveries_failed_at_of_webhook ON deliveries (business_id, webhook_id, finished_at)
    WHERE state = 'failed';

CREATE TABLE attempts (
    business_id      bigint NOT NULL,
    delivery_id      uuid NOT NULL,
    n                smallint NOT NULL,              -- 1 is the first
    started_at       timestamptz NOT NULL,
    url              text NOT NULL,
    request_headers  text NOT NULL,                  -- JSON, custom values masked
    status           smallint NOT NULL,              -- 0 without a response
    error_class      text NOT NULL,                  -- '' on success
    error            text NOT NULL,                  -- for people
    response_headers text NOT NULL,                  -- JSON
    response_body    bytea NOT NULL,                 -- the first 4 KiB
    dns_us           integer NOT NULL,               -- microseconds from the start of the attempt; 0: did not happen
    connect_us       integer NOT NULL,
    tls_us           integer NOT NULL,
    first_byte_us    integer NOT NULL,
    total_us         integer NOT NULL,
    -- The request was sent a second time, because an idle connection was closed before a response.
    sent_twice       boolean NOT NULL DEFAULT false
) PARTITION BY RANGE (delivery_id);
-- Not unique: an attempt that outlived its lease is recorded beside the one that replaced it.
CREATE INDEX attempts_by_delivery ON attempts (business_id, delivery_id, n);

CREATE TABLE events_other PARTITION OF events DEFAULT;
CREATE TABLE deliveries_other PARTITION OF deliveries DEFAULT;
CREATE TABLE attempts_other PARTITION OF attempts DEFAULT;

-- Numbers of leases. A row that is created again gets no number of the former one.
CREATE SEQUENCE leases;

-- Unfinished deliveries. Workers share their capacity between endpoints.
CREATE TABLE delivery_queue (
    business_id    bigint NOT NULL,
    id             uuid NOT NULL,
    event_id       uuid NOT NULL,
    event_type     text NOT NULL,
    webhook_id     bigint,                         -- null: url is the callback_url of a request
    url            text NOT NULL DEFAULT '',
    endpoint       bigint NOT NULL,                -- the webhook, or a negative hash of a callback_url
    size           integer NOT NULL,               -- bytes of the body as stored
    ordering_key   bigint NOT NULL DEFAULT 0,      -- the order; 0: none
    sequence       integer NOT NULL DEFAULT 0,     -- of the event
    blocked        boolean NOT NULL DEFAULT false, -- by an earlier row of its ordering key: available_at is infinity
    attempts       smallint NOT NULL DEFAULT 0,    -- finished
    prior_attempts smallint NOT NULL DEFAULT 0,    -- those of them before a user restarted the schedule
    manual         boolean NOT NULL DEFAULT false, -- a user requested the next attempt
    due_at         timestamptz NOT NULL,
    available_at   timestamptz NOT NULL,           -- claimable from then on: due_at, the end of a lease, or infinity
    owner          uuid,
    lease          bigint NOT NULL DEFAULT 0,      -- of the last claim; 0: leased by the transaction that stored it
    PRIMARY KEY (business_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX delivery_queue_due ON delivery_queue (available_at);
CREATE INDEX delivery_queue_available ON delivery_queue (endpoint, available_at);
CREATE INDEX delivery_queue_ordering_key ON delivery_queue (business_id, ordering_key, sequence)
    WHERE ordering_key <> 0;
CREATE INDEX delivery_queue_manual ON delivery_queue (available_at) WHERE manual;

-- The circuit breakers of endpoints whose last attempt failed. Other endpoints have no row.
CREATE TABLE endpoint_circuits (
    business_id   bigint NOT NULL,
    endpoint      bigint NOT NULL,      -- as in delivery_queue
    failures      integer NOT NULL,     -- consecutive
    since         timestamptz NOT NULL, -- when the first of them started
    at            timestamptz NOT NULL, -- when the last of them was recorded
    status        smallint NOT NULL,    -- of the last; 0 without a response
    error         text NOT NULL,        -- of the last, for people
    probing_since timestamptz,          -- when the circuit opened; null: it is closed
    next_probe    timestamptz,          -- or the end of the lease of a running probe
    pause_ms      integer NOT NULL DEFAULT 0, -- between the last probe and the next
    PRIMARY KEY (endpoint, business_id)
) WITH (fillfactor = 50);

-- Replicas cache whether a circuit is open.
CREATE TRIGGER cached_insert AFTER INSERT ON endpoint_circuits
    FOR EACH ROW WHEN (NEW.probing_since IS NOT NULL) EXECUTE FUNCTION record_business_change();
CREATE TRIGGER cached_update AFTER UPDATE ON endpoint_circuits
    FOR EACH ROW WHEN ((OLD.probing_since IS NULL) <> (NEW.probing_since IS NULL))
    EXECUTE FUNCTION record_business_change();
CREATE TRIGGER cached_delete AFTER DELETE ON endpoint_circuits
    FOR EACH ROW WHEN (OLD.probing_since IS NOT NULL) EXECUTE FUNCTION record_business_change();

-- Events that had no receiver, by type.
CREATE TABLE unrouted_events (
    business_id bigint NOT NULL,
    event_type  text NOT NULL,
    at          timestamptz NOT NULL, -- the latest
    count       bigint NOT NULL,      -- since the business last had a receiver for the type
    PRIMARY KEY (business_id, event_type)
);

SELECT enable_rls();
