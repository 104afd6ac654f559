-- The menus to publish on platforms that plugins serve, and the last outcome of each. One row for a store and
-- platform, so that its lock keeps the sequence. An older menu is never sent with or after a newer one.
CREATE TABLE publications (
    business_id        bigint NOT NULL,
    store_id           bigint NOT NULL,
    platform           text NOT NULL,
    endpoint           bigint NOT NULL,             -- hash of business and platform; fairness is per endpoint
    version            bigint NOT NULL DEFAULT 1,   -- counts the changes
    reference          uuid NOT NULL,               -- of the latest change
    publish_requests   uuid[] NOT NULL,             -- references of requests to publish without an outcome
    pending_references uuid[] NOT NULL DEFAULT '{}', -- references of changes without an outcome, the latest hundred
    first_marked_at    timestamptz,                 -- the first change that is not published; null: none
    due_at             timestamptz NOT NULL,
    available_at       timestamptz NOT NULL,        -- claimable then: due_at, a retry, the end of a lease, infinity
    owner              uuid,
    lease              bigint NOT NULL DEFAULT 0,   -- of the last claim
    attempts           smallint NOT NULL DEFAULT 0, -- finished ones at the current menu
    call_id            uuid,                        -- of the current menu: its idempotency key
    note               text NOT NULL DEFAULT '',    -- why it still waits
    state              text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'published', 'failed', 'unlisted', 'skipped')),
    message            text NOT NULL DEFAULT '',    -- the reason, for people
    left_out           text NOT NULL DEFAULT '[]',  -- JSON: findings of the rules of the platform
    problems           text NOT NULL DEFAULT '[]',  -- JSON: rejections of the aggregator
    warnings           text NOT NULL DEFAULT '[]',  -- JSON: findings about objects that the platform lists
    outcome_reference  uuid,                        -- the reference in the event of the outcome
    digest             bytea,                       -- of the menu on the platform; null: unknown
    state_unknown      boolean NOT NULL DEFAULT false, -- another call changed the platform since the claim
    -- The id of the store on the platform when it last accepted a menu; null: it accepted none.
    platform_store_id  text,
    published_at       timestamptz,
    settled_at         timestamptz,                 -- of the last outcome
    steps              bytea,                       -- sealed JSON: the completed steps of the call; null: none
    -- The menu that the aggregator has accepted and whose outcome it reports later: publish.SentMenu, JSON.
    sent_menu          text,
    sent_at            timestamptz,                 -- when it accepted that menu
    sent_deadline      timestamptz,                 -- when the outcome is overdue
    sent_task          text NOT NULL DEFAULT ''     -- the aggregator's id of that
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX publications_available ON publications (endpoint, available_at) WHERE available_at < 'infinity';
CREATE INDEX publications_failed ON publications (business_id, platform) WHERE state = 'failed';
CREATE INDEX publications_settled ON publications (business_id, settled_at);
-- Last of the indexes: without statistics PostgreSQL takes the newest of those that seem equal.
ALTER TABLE publications ADD PRIMARY KEY (business_id, store_id, platform);

-- The menu that was last sent of each store to each platform, with the response.
CREATE TABLE sent_menus (
    business_id bigint NOT NULL,
    store_id    bigint NOT NULL,
    platform    text NOT NULL,
    call_id     uuid NOT NULL,
    version     bigint NOT NULL,   -- of the publication
    sent_at     timestamptz NOT NULL,
    body        bytea,             -- compressed; null: too large
    size        integer NOT NULL,  -- bytes of the body
    status      smallint NOT NULL, -- 0 without a response
    response    bytea NOT NULL,    -- the first 4 KiB
    state       text NOT NULL CHECK (state IN ('published', 'failed', 'waiting', 'pending')),
    message     text NOT NULL,     -- the reason, for people
    PRIMARY KEY (business_id, store_id, platform)
);
ALTER TABLE sent_menus ALTER COLUMN body SET STORAGE EXTERNAL; -- compressed already

SELECT enable_rls();
