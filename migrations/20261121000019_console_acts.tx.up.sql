-- What people do in the console: secrets and keys are changed without a break,
-- jobs are run again, and what nobody was told is kept in mind.

-- For a while after a webhook got another secret, the one before signs too.
ALTER TABLE webhooks
    ADD COLUMN old_secret       bytea,       -- sealed; null: none
    ADD COLUMN old_secret_until timestamptz;

-- When a key was last shown, to about a minute; of a disabled one too.
ALTER TABLE api_keys ADD COLUMN used_at timestamptz;

-- The job whose request this one runs again.
ALTER TABLE jobs ADD COLUMN again_of uuid;
CREATE INDEX jobs_again ON jobs (business_id, again_of) WHERE again_of IS NOT NULL;

-- Events for which there was no receiver, by their types.
CREATE TABLE unheard_events (
    business_id bigint NOT NULL,
    event_type  text NOT NULL,
    at          timestamptz NOT NULL, -- the latest
    count       bigint NOT NULL,      -- since the business last had a receiver for the type
    PRIMARY KEY (business_id, event_type)
);
