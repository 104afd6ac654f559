-- Calls to aggregators, except the publications of menus.

-- A call is kept as long as its order.
CREATE TABLE calls (
    business_id  bigint NOT NULL,
    id           uuid NOT NULL,
    ordering_key text NOT NULL,            -- its calls run one by one, by sequence
    sequence     bigint GENERATED ALWAYS AS IDENTITY,
    kind         text NOT NULL,            -- rider_status, action, …
    platform     text NOT NULL,
    order_id     bigint NOT NULL,          -- 0: about a store
    payload      text NOT NULL,            -- JSON
    actor        text NOT NULL,
    state        text NOT NULL CHECK (state IN ('waiting', 'pending', 'done', 'failed', 'skipped')),
    message      text NOT NULL DEFAULT '', -- the reason, for people
    result       text NOT NULL DEFAULT '', -- of an action, such as a phone number
    attempts     smallint NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    retried_at   timestamptz,              -- when it was last queued again after it had ended; null: never
    finished_at  timestamptz,
    outcome_deadline timestamptz,          -- of a pending one: when its outcome is overdue; null: of an action
    trace        text,                     -- traceparent; null: none
    request_digest bytea                   -- of an inbound request, to find repeats; null: none, or done
) WITH (fillfactor = 80);
CREATE INDEX calls_of_stores ON calls (business_id, ordering_key, sequence) WHERE order_id = 0;
CREATE INDEX calls_of_actions ON calls (business_id) WHERE kind = 'action';
CREATE INDEX calls_waiting ON calls (business_id, ordering_key, sequence) WHERE state = 'waiting';
-- Calls that the aggregator accepted and whose outcome it has not reported yet.
CREATE INDEX calls_pending ON calls (finished_at) WHERE state = 'pending';
CREATE INDEX calls_overdue ON calls (outcome_deadline) WHERE state = 'pending' AND outcome_deadline IS NOT NULL;
CREATE INDEX calls_failed ON calls (business_id, finished_at, id) INCLUDE (platform, kind, order_id)
    WHERE state = 'failed';
-- Last of the indexes: without statistics PostgreSQL takes the newest of those that seem equal.
ALTER TABLE calls ADD PRIMARY KEY (business_id, id);
CREATE INDEX calls_by_order ON calls (order_id, business_id); -- the order first: not for lookups by id

-- The ordering keys with unfinished calls. One row for each, so that its lock keeps the sequence.
-- The row of rider locations contains the newest one, and stays for a while after it was sent, so
-- that no older one follows.
CREATE TABLE call_queue (
    business_id    bigint NOT NULL,
    ordering_key   text NOT NULL,
    kind           text NOT NULL,
    platform       text NOT NULL,
    order_id       bigint NOT NULL,
    endpoint       bigint NOT NULL,             -- hash of business and platform; fairness is per endpoint
    payload        text NOT NULL DEFAULT '',    -- of a location: JSON, also after it was sent
    call_id        uuid NOT NULL,               -- of a location: of the newest
    received_at    timestamptz NOT NULL,        -- when the newest arrived; of a poll: when its run was due
    version        bigint NOT NULL DEFAULT 1,   -- counts arrivals
    attempts       smallint NOT NULL DEFAULT 0, -- finished ones of its first call
    due_at         timestamptz NOT NULL,
    available_at   timestamptz NOT NULL,        -- when a worker may claim it: due_at, the end of a lease, or infinity
    owner          uuid,
    lease          bigint NOT NULL DEFAULT 0,   -- of the last claim
    note           text NOT NULL DEFAULT '',    -- why its first call still waits
    location_state text NOT NULL DEFAULT '',    -- of the last ended location: done, failed or skipped
    location_sent_at timestamptz,               -- when the platform accepted the last location; null: none yet
    location_trail text NOT NULL DEFAULT '',    -- earlier locations, oldest first: "latitude,longitude,epoch ms;"
    steps          bytea,                       -- sealed JSON: the completed steps of its first call; null: none
    PRIMARY KEY (business_id, ordering_key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX call_queue_available ON call_queue (endpoint, available_at) WHERE available_at < 'infinity';

-- Adds the previous location to the trail, one each 30 seconds, and keeps about the last forty.
CREATE FUNCTION extend_location_trail() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place json := OLD.payload::json;
    latest bigint := coalesce(substring(OLD.location_trail FROM '([0-9]+);$')::bigint, 0);
BEGIN
    IF (place->>'at')::bigint - latest >= 30000 THEN
        NEW.location_trail := OLD.location_trail || left(place->>'latitude', 12) || ',' ||
            left(place->>'longitude', 12) || ',' || (place->>'at') || ';';
        IF length(NEW.location_trail) > 1600 THEN
            NEW.location_trail := substring(NEW.location_trail FROM position(';' IN NEW.location_trail) + 1);
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER location_trail BEFORE UPDATE ON call_queue
    FOR EACH ROW WHEN (NEW.kind = 'rider_location' AND OLD.payload <> '' AND NEW.payload <> OLD.payload)
    EXECUTE FUNCTION extend_location_trail();

-- The polls of platforms, whose next runs are rows of call_queue.
CREATE TABLE polls (
    business_id  bigint NOT NULL,
    platform     text NOT NULL,
    poll         text NOT NULL,              -- name, as the plugin declares it
    store_id     bigint NOT NULL DEFAULT 0,  -- 0: of the platform
    plugin       text NOT NULL DEFAULT '',   -- whose cursor it is
    cursor       text NOT NULL DEFAULT '',   -- for the next run, from the plugin
    seen         bytea NOT NULL DEFAULT '',  -- digests of the messages of the last successful run, 16 bytes each
    attempted_at timestamptz,                -- the last attempt; null: none yet
    failures     integer NOT NULL DEFAULT 0, -- failed runs since the last successful one
    message      text NOT NULL DEFAULT '',   -- of the last attempt, for people
    failed       boolean NOT NULL DEFAULT false, -- the last attempt
    PRIMARY KEY (business_id, platform, poll, store_id),
    FOREIGN KEY (business_id, platform) REFERENCES platforms (business_id, name) ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE call_attempts (
    business_id      bigint NOT NULL,
    call_id          uuid NOT NULL,
    order_id         bigint NOT NULL,
    n                smallint NOT NULL,         -- 1 is the first
    started_at       timestamptz NOT NULL,
    method           text NOT NULL,
    url              text NOT NULL,
    request_headers  text NOT NULL,             -- JSON, secrets masked
    request_body     bytea NOT NULL DEFAULT '', -- the first 4 KiB
    status           smallint NOT NULL,         -- 0 without a response
    error_class      text NOT NULL,             -- '' on success
    error            text NOT NULL,             -- for people
    response_headers text NOT NULL,             -- JSON
    response_body    bytea NOT NULL,            -- the first 4 KiB
    total_us         integer NOT NULL,
    step             text NOT NULL DEFAULT ''   -- of a plan with steps
) PARTITION BY RANGE (call_id);
CREATE INDEX call_attempts_by_call ON call_attempts (business_id, call_id, n);
-- Locations of riders have attempts and no row in calls.
CREATE INDEX call_attempts_of_order ON call_attempts (business_id, order_id) WHERE order_id <> 0;
CREATE TABLE call_attempts_other PARTITION OF call_attempts DEFAULT;

-- Requests whose outcome an aggregator reports later, by its ids of them: menus, and calls except actions. Reports that
-- arrived before the response to their request are early.
CREATE TABLE outcome_tasks (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    reference   text NOT NULL,             -- the aggregator's id
    kind        text NOT NULL DEFAULT '',  -- menu, or the kind of the call
    store_id    bigint NOT NULL DEFAULT 0, -- 0: of no store
    call_id     uuid,                      -- of the request; null: early
    state       text NOT NULL CHECK (state IN ('early', 'pending', 'done', 'failed', 'retry', 'expired', 'superseded')),
    report      text NOT NULL DEFAULT '',  -- of an early one: JSON
    updated_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,      -- of a pending one: when its outcome is overdue; of others: deleted then
    PRIMARY KEY (business_id, platform, reference)
);
CREATE INDEX outcome_tasks_by_call ON outcome_tasks (business_id, call_id) WHERE state = 'pending';
CREATE INDEX outcome_tasks_by_store ON outcome_tasks (business_id, store_id, kind) WHERE store_id <> 0;
CREATE INDEX outcome_tasks_expired ON outcome_tasks (expires_at);

SELECT enable_rls();
