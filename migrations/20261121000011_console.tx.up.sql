-- The console: who may look and act, and figures counted as things happen.

CREATE TABLE users (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email       text NOT NULL UNIQUE,     -- in lower case
    role        text NOT NULL CHECK (role IN ('viewer', 'support', 'admin')),
    password    text NOT NULL DEFAULT '', -- argon2id in PHC form; empty before the first sign-in
    created_at  timestamptz NOT NULL,
    seen_at     timestamptz,
    disabled_at timestamptz
);

-- The businesses that a viewer or a supporter may see. Admins see all.
CREATE TABLE user_grants (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    business_id bigint NOT NULL REFERENCES businesses (id),
    PRIMARY KEY (user_id, business_id)
);

CREATE TABLE sessions (
    token_hash bytea PRIMARY KEY, -- SHA-256 of 32 random bytes
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);

CREATE TABLE sign_in_links (
    token_hash bytea PRIMARY KEY,
    user_id    bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);

-- Attempts to sign in that have not succeeded, for as long as they count.
CREATE TABLE sign_in_attempts (
    subject text NOT NULL, -- account/EMAIL or address/IP
    at      timestamptz NOT NULL
);
CREATE INDEX sign_in_attempts_subject ON sign_in_attempts (subject, at);

-- Delivery attempts counted by the minute and by the hour, of each webhook and,
-- as webhook 0, of the whole business.
CREATE TABLE attempt_counts (
    business_id bigint NOT NULL,
    grain       integer NOT NULL,     -- seconds: 60 or 3600
    at          timestamptz NOT NULL, -- the beginning of the span
    webhook_id  bigint NOT NULL,
    accepted    bigint NOT NULL,
    refused     bigint NOT NULL,
    took_us     bigint NOT NULL,      -- of all attempts together
    slow_us     bigint NOT NULL,      -- of the slowest
    PRIMARY KEY (business_id, grain, at, webhook_id)
);

-- How each webhook fares, by its latest attempts.
CREATE TABLE endpoint_health (
    business_id   bigint NOT NULL,
    webhook_id    bigint NOT NULL,
    accepted_at   timestamptz, -- the latest accepted attempt
    refused_at    timestamptz, -- the latest refused attempt
    failing_since timestamptz, -- the first refusal since the latest acceptance; null while all is well
    status        smallint NOT NULL DEFAULT 0, -- of the latest refusal
    error_class   text NOT NULL DEFAULT '',
    error         text NOT NULL DEFAULT '',
    delivery_id   uuid,
    PRIMARY KEY (business_id, webhook_id)
);
CREATE INDEX endpoint_health_failing ON endpoint_health (business_id, failing_since) WHERE failing_since IS NOT NULL;

-- The deliveries of one webhook, newest first, however many the others have.
CREATE INDEX deliveries_of_webhook ON deliveries (business_id, webhook_id, id);
CREATE INDEX jobs_failed ON jobs (business_id, id) WHERE state = 'failed';
