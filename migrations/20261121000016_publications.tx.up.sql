-- What is published of a store's menu on a platform that a plugin serves: what
-- waits, and what came of it last. One row a store and platform, so that the row
-- keeps the order: no older content goes out beside or after a newer one.
CREATE TABLE publications (
    business_id  bigint NOT NULL,
    store_id     bigint NOT NULL,
    platform     text NOT NULL,
    endpoint     bigint NOT NULL,            -- hash of business and platform: what fairness goes by
    version      bigint NOT NULL DEFAULT 1,  -- counts the changes
    reference    uuid NOT NULL,              -- of the latest change
    asked        uuid[] NOT NULL,            -- of those who asked for it and were not answered yet
    first_at     timestamptz,                -- the first change that nobody has taken up; null: none
    due_at       timestamptz NOT NULL,
    available_at timestamptz NOT NULL,       -- when a worker may take it: due_at, a retry, the end of a lease, or infinity
    owner        uuid,
    attempts     smallint NOT NULL DEFAULT 0, -- at what is being published, finished so far
    call_id      uuid,                       -- of what is being published: its idempotency key
    note         text NOT NULL DEFAULT '',   -- why it still waits
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'published', 'failed', 'unlisted', 'skipped')),
    message      text NOT NULL DEFAULT '',   -- why, in plain words
    left_out     text NOT NULL DEFAULT '[]', -- JSON: what the rules of the platform refuse
    problems     text NOT NULL DEFAULT '[]', -- JSON: what the aggregator refused
    outcome_of   uuid,                       -- the reference that the outcome was told by
    digest       bytea,                      -- of what the platform is known to hold; null: not known
    published_at timestamptz,
    settled_at   timestamptz,
    PRIMARY KEY (business_id, store_id, platform)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX publications_available ON publications (endpoint, available_at) WHERE available_at < 'infinity';

-- Until which revision what a plugin makes of menus has been published anew.
ALTER TABLE plugins ADD COLUMN published_revision bigint NOT NULL DEFAULT 0;
