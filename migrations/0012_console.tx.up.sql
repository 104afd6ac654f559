-- Counts for the console, updated with each attempt.

-- Delivery attempts by minute and by hour, of each webhook and, as webhook 0, of the business.
CREATE TABLE attempt_counts (
    business_id    bigint NOT NULL,
    bucket_seconds integer NOT NULL,     -- 60 or 3600
    bucket_start   timestamptz NOT NULL,
    webhook_id     bigint NOT NULL,
    succeeded      bigint NOT NULL,
    failed         bigint NOT NULL,
    total_us       bigint NOT NULL,      -- of all attempts together
    max_us         bigint NOT NULL,      -- of the slowest
    PRIMARY KEY (business_id, bucket_seconds, bucket_start, webhook_id)
);

-- The outcomes of the latest attempts of each webhook.
CREATE TABLE webhook_health (
    business_id   bigint NOT NULL,
    webhook_id    bigint NOT NULL,
    succeeded_at  timestamptz, -- the latest successful attempt
    failed_at     timestamptz, -- the latest failed attempt
    failing_since timestamptz, -- the first failure since the latest success; null: none
    status        smallint NOT NULL DEFAULT 0, -- of the latest failure
    error_class   text NOT NULL DEFAULT '',
    error         text NOT NULL DEFAULT '',
    delivery_id   uuid,
    reset_at      timestamptz, -- the last change of URL or headers; attempts that started before do not count
    PRIMARY KEY (business_id, webhook_id)
);
CREATE INDEX webhook_health_failing ON webhook_health (business_id, failing_since) WHERE failing_since IS NOT NULL;

-- The filters of lists that users saved under a name.
CREATE TABLE saved_views (
    business_id bigint NOT NULL REFERENCES businesses (id),
    id          bigint GENERATED ALWAYS AS IDENTITY,
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    owner       text NOT NULL,    -- email address of the user
    list        text NOT NULL,    -- such as deliveries
    name        text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
    filters     text NOT NULL CHECK (octet_length(filters) <= 2000), -- a query string
    shared      boolean NOT NULL, -- with the other users of the business
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, list, user_id, name)
);
CREATE INDEX saved_views_of_user ON saved_views (user_id);

SELECT enable_rls();
