-- Availability of stores, items and options. Requests, timers and the presence of the POS change it.

-- Whether a store takes orders on a platform. Without a row it does.
CREATE TABLE store_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    platform    text NOT NULL,
    open        boolean NOT NULL,
    source      text NOT NULL, -- of the last switch: api, presence or timer
    reason      text NOT NULL, -- for people; '' if none was given
    actor       text NOT NULL, -- such as key:pos
    reference   uuid NOT NULL, -- of the latest request
    at          timestamptz NOT NULL,
    turn_on_at  timestamptz,   -- when it opens automatically; null: never
    PRIMARY KEY (business_id, store_id, platform)
) WITH (fillfactor = 70);
CREATE INDEX store_switches_due ON store_switches (turn_on_at) WHERE turn_on_at IS NOT NULL;

SELECT watch_business_changes('store_switches');

-- Stores that are busy on a platform. They stay open.
CREATE TABLE store_workloads (
    business_id  bigint NOT NULL REFERENCES businesses (id),
    store_id     bigint NOT NULL,
    platform     text NOT NULL,
    prep_minutes integer NOT NULL, -- the preparation time of new orders; 0: not given
    until_at     timestamptz,      -- when it ends automatically; null: on request only
    actor        text NOT NULL,    -- such as key:pos
    reference    uuid NOT NULL,    -- of the request
    at           timestamptz NOT NULL,
    PRIMARY KEY (business_id, store_id, platform)
) WITH (fillfactor = 70);
CREATE INDEX store_workloads_due ON store_workloads (until_at) WHERE until_at IS NOT NULL;

-- The reports of platforms about stores. Orders do not depend on it.
CREATE TABLE store_reports (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    platform    text NOT NULL,
    state       text NOT NULL CHECK (state IN ('open', 'closed', 'paused')),
    reason      text NOT NULL, -- for people; '' if none was given
    since       timestamptz NOT NULL, -- of the report that changed the state
    until_at    timestamptz,          -- when the platform opens the store again; null: unknown
    reported_at timestamptz NOT NULL, -- of the newest report
    PRIMARY KEY (business_id, store_id, platform)
) WITH (fillfactor = 70);

-- The last request that switched an item or option at a store. An earlier menu request does not undo it. A rollback
-- to an earlier revision deletes its timer.
CREATE TABLE item_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (1, 3)), -- as in catalogue_entities
    name        text NOT NULL,        -- ref_id
    available   boolean NOT NULL,
    at          timestamptz NOT NULL, -- of the request, also if its timer has enabled it since
    PRIMARY KEY (business_id, store_id, kind, name)
) WITH (fillfactor = 70);

-- When items and options become available again automatically.
CREATE TABLE item_timers (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (1, 3)), -- as in catalogue_entities
    name        text NOT NULL, -- ref_id
    reference   uuid NOT NULL, -- of the request
    actor       text NOT NULL,
    turn_on_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, store_id, kind, name)
);
CREATE INDEX item_timers_due ON item_timers (turn_on_at);

-- Requests to switch or publish a store that no platform lists. They have no event, but their
-- references are known.
CREATE TABLE unnotified_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    reference   uuid NOT NULL,
    PRIMARY KEY (business_id, reference)
);

-- The last heartbeat of the POS of each store.
CREATE TABLE pos_presence (
    business_id        bigint NOT NULL,
    store_id           bigint NOT NULL,
    seen_at            timestamptz NOT NULL,
    silent_since       timestamptz,                    -- null: not silent
    closed_for_silence boolean NOT NULL DEFAULT false, -- the store was closed for it
    PRIMARY KEY (business_id, store_id)
) WITH (fillfactor = 50);
CREATE INDEX pos_presence_silent ON pos_presence (business_id, silent_since) WHERE silent_since IS NOT NULL;

-- The limits of businesses that differ from those of the hub.
CREATE TABLE presence_rules (
    business_id          bigint PRIMARY KEY REFERENCES businesses (id),
    close_silent_stores  boolean NOT NULL,
    silent_after_s       integer,    -- seconds until a POS counts as silent; 0: never, null: as the hub
    ack_within_s         integer,    -- seconds until an acknowledgement is overdue; 0: never, null: as the hub
    orders_checked_until timestamptz -- the placing time up to which orders were checked; null: as of the hub
);

SELECT enable_rls();
