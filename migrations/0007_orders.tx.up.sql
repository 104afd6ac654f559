-- Orders, and what happens to them after they were placed.

-- Blocks of 128 ids, so that most batches take none.
CREATE SEQUENCE order_id_blocks AS bigint START 10001 INCREMENT BY 128;

CREATE TABLE orders (
    business_id       bigint NOT NULL,
    id                bigint NOT NULL,
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    store_id          bigint NOT NULL,
    state             text NOT NULL,
    is_bulk_order     boolean NOT NULL,
    delivery_type     text NOT NULL CHECK (delivery_type IN ('self', 'partner')),
    order_type        text NOT NULL DEFAULT 'delivery', -- only delivery orders have riders
    flags             smallint NOT NULL,                -- their number
    events            integer NOT NULL,                 -- their number; the next one has the sequence after it
    placed_event      uuid NOT NULL,                    -- its body is the placed order
    updated_event     uuid,                             -- its body is the order after the last update; null: none
    placed_by         text NOT NULL,                    -- such as key:shop
    scheduled_for     timestamptz,                      -- the requested time, if more than a day after placing
    unnotified        boolean NOT NULL DEFAULT false,   -- no active webhook received it when it was placed
    -- Null in a new order, so that intake does not touch their indexes.
    reference         text,                             -- the number in the POS
    escalated_at      timestamptz,                      -- when its acknowledgement became overdue
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    -- Of phone, email and name, keyed by businesses.customer_key. Null: that key could not be opened.
    customer_hashes   bigint[] DEFAULT '{}',
    erased_at         timestamptz,                      -- when its personal data was erased; null: never
    UNIQUE (business_id, platform, platform_order_id)
) WITH (fillfactor = 90);
CREATE INDEX orders_by_time ON orders (business_id, created_at, id);
CREATE INDEX orders_by_reference ON orders (business_id, reference, created_at) WHERE reference IS NOT NULL;
CREATE INDEX orders_escalated ON orders (business_id, created_at, id) WHERE escalated_at IS NOT NULL;
CREATE INDEX orders_unnotified ON orders (business_id, created_at, id) WHERE unnotified;
-- Scheduled orders are kept until their day, and so are their events.
CREATE INDEX orders_scheduled ON orders (business_id, placed_event) WHERE scheduled_for IS NOT NULL;

-- A GIN index collects new entries and sorts them in later, so that intake pays less than for a row for each hash.
CREATE INDEX orders_by_customer ON orders USING gin (customer_hashes);
CREATE INDEX orders_without_hashes ON orders (business_id, id) WHERE customer_hashes IS NULL;
-- Last of the indexes: without statistics PostgreSQL takes the newest of those that seem equal.
ALTER TABLE orders ADD PRIMARY KEY (business_id, id);

-- Requests to erase the personal data of a customer. A replica works on those that are not done.
CREATE TABLE customer_erasures (
    business_id  bigint NOT NULL REFERENCES businesses (id),
    id           uuid NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('phone', 'email', 'order')),
    hash         bigint NOT NULL,            -- as in orders.customer_hashes; 0: of an order
    order_id     bigint NOT NULL,            -- 0: of a hash
    actor        text NOT NULL,              -- such as user:admin@example.com
    requested_at timestamptz NOT NULL,       -- later orders are not erased
    erased       integer NOT NULL DEFAULT 0, -- orders
    waiting      integer NOT NULL DEFAULT 0, -- orders with an unfinished delivery or call at the last run
    done_at      timestamptz,                -- null: not done
    PRIMARY KEY (business_id, id)
);
CREATE INDEX customer_erasures_open ON customer_erasures (requested_at, id) WHERE done_at IS NULL;
CREATE UNIQUE INDEX customer_erasures_open_of_order ON customer_erasures (business_id, order_id)
    WHERE order_id <> 0 AND done_at IS NULL;

-- For how long businesses keep personal data. Without a row it is as long as the orders.
CREATE TABLE personal_data_rules (
    business_id  bigint PRIMARY KEY REFERENCES businesses (id),
    keep_days    integer NOT NULL,                       -- 0: as long as the orders
    -- The last order, by placing time, that was erased or has an open erasure.
    erased_until timestamptz NOT NULL DEFAULT '-infinity',
    erased_order bigint NOT NULL DEFAULT 0
);

-- The states of an order after Placed.
CREATE TABLE order_states (
    business_id    bigint NOT NULL,
    order_id       bigint NOT NULL,
    n              integer NOT NULL, -- 1 is the first after Placed
    state          text NOT NULL,
    at             timestamptz NOT NULL,
    message        text NOT NULL,
    reason_code    text NOT NULL,
    prep_time_mins integer,
    actor          text NOT NULL,    -- such as key:pos
    items          text,             -- JSON: the items because of which it was cancelled; null: none are named
    PRIMARY KEY (business_id, order_id, n)
);

CREATE TABLE rider_statuses (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    n           integer NOT NULL, -- 1 is the first
    status      text NOT NULL,
    at          timestamptz NOT NULL,
    rider_name  text NOT NULL,    -- '' while unknown
    rider_phone text NOT NULL,
    actor       text NOT NULL,    -- such as key:pos
    location    text,             -- JSON: the latest with this status, of a platform's courier; null: unknown
    call_id     uuid,             -- null: no aggregator to relay it to
    PRIMARY KEY (business_id, order_id, n)
);

-- Reports that items of an order are out of stock.
CREATE TABLE out_of_stock_reports (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    reference   uuid NOT NULL,    -- of the report, and the id of the call that relays it
    items       text NOT NULL,    -- JSON
    allow_edit  boolean NOT NULL, -- the platform may let the customer change the order
    actor       text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, order_id, reference)
);

-- Cancellations that arrived before their order.
CREATE TABLE pending_cancellations (
    business_id       bigint NOT NULL REFERENCES businesses (id),
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    reason            text NOT NULL, -- for people
    at                timestamptz NOT NULL,
    PRIMARY KEY (business_id, platform, platform_order_id)
);

-- Messages of platforms about orders that have not arrived yet. They are kept for a day.
CREATE TABLE pending_follow_ups (
    business_id       bigint NOT NULL REFERENCES businesses (id),
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    id                uuid NOT NULL, -- sorts by time
    content           text NOT NULL, -- JSON
    at                timestamptz NOT NULL,
    PRIMARY KEY (business_id, platform, platform_order_id, id)
);
CREATE INDEX pending_follow_ups_by_time ON pending_follow_ups (at);

-- Messages of platforms about orders, unless the order itself shows them.
CREATE TABLE order_follow_ups (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    kind        text NOT NULL, -- courier, release or update
    note        text NOT NULL, -- why it changed nothing; '': it did
    actor       text NOT NULL, -- such as platform:deliveroo
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, order_id, kind)
);

-- Changes of orders at their platforms. The bodies of the events are the changed orders.
CREATE TABLE order_revisions (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    change_id   text NOT NULL, -- of the platform
    event_id    uuid,          -- null: the change was rejected
    reason      text NOT NULL, -- of the platform, for people
    note        text NOT NULL, -- why it was rejected; '': it was not
    changes     text NOT NULL, -- JSON: what changed
    actor       text NOT NULL, -- such as platform:deliveroo
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, order_id, change_id)
);

-- Repeats of orders with other content, which the hub did not apply. The latest of each order.
CREATE TABLE order_repeats (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    differences text NOT NULL, -- for people
    actor       text NOT NULL, -- of the last time, such as key:shop
    times       integer NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (business_id, order_id, differences)
);

-- The latest rejected orders of each business. They show users why an order is missing.
CREATE TABLE rejected_orders (
    business_id       bigint NOT NULL REFERENCES businesses (id),
    -- As in the request; empty if it did not contain them.
    platform          text NOT NULL,
    platform_order_id text NOT NULL,
    store             text NOT NULL,        -- the ref_id or the platform store id
    reason            text NOT NULL,        -- of the last rejection
    hub_fault         boolean NOT NULL,     -- the reason is no fault of the order
    rejections        bigint NOT NULL,      -- their number
    first_at          timestamptz NOT NULL,
    last_at           timestamptz NOT NULL, -- unique within a business
    PRIMARY KEY (business_id, platform, platform_order_id)
);
CREATE INDEX rejected_orders_by_time ON rejected_orders (business_id, last_at);

-- The deliveries that an order retry or the resend of a problem sends, until it has reported their outcome.
CREATE TABLE followed_resends (
    business_id    bigint NOT NULL,
    reference      uuid NOT NULL,     -- of the job
    delivery_id    uuid NOT NULL,
    order_id       bigint,            -- one that several webhooks rejected counts once; null: of a problem
    state          smallint NOT NULL, -- 0 chosen, 1 sent, 2 accepted, 3 not accepted
    prior_attempts smallint NOT NULL, -- of the delivery before it was resent
    created        boolean NOT NULL DEFAULT false, -- by the job: no webhook had received the order
    PRIMARY KEY (business_id, reference, delivery_id)
);

SELECT enable_rls();
