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

SELECT enable_rls();
