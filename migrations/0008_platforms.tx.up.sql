-- Platforms of businesses, and the plugins that serve them.

CREATE TABLE platforms (
    business_id          bigint NOT NULL REFERENCES businesses (id),
    name                 text NOT NULL,
    served_by            text NOT NULL,              -- own, or the id of a plugin
    settings             text NOT NULL DEFAULT '',   -- a JSON object that the plugin accepted, or ''
    addresses            text NOT NULL DEFAULT '{}', -- JSON: base URL by name of endpoint
    secrets              bytea,                      -- sealed JSON: value by name; null: never set up
    secrets_set_at       text NOT NULL DEFAULT '{}', -- JSON: time by name
    accept               text NOT NULL DEFAULT 'hub' CHECK (accept IN ('hub', 'pos')), -- who accepts its orders
    -- The last callback without a valid verification.
    callback_rejected_at timestamptz,
    callback_rejection   text NOT NULL DEFAULT '',   -- the reason
    PRIMARY KEY (business_id, name)
);

CREATE TRIGGER cached_insert AFTER INSERT OR DELETE ON platforms
    FOR EACH ROW EXECUTE FUNCTION record_business_change();
CREATE TRIGGER cached_update AFTER UPDATE OF name, served_by, accept ON platforms
    FOR EACH ROW EXECUTE FUNCTION record_business_change();

-- The tokens of credentials that plugins declare. One replica at a time renews them.
CREATE TABLE platform_tokens (
    id            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    business_id   bigint NOT NULL,
    platform      text NOT NULL,
    credential    text NOT NULL,
    store_ref_id  text NOT NULL DEFAULT '',             -- of a store with own secrets; '': all others
    sealed        bytea,                                -- sealed JSON: the tokens; null: none yet
    version       bigint NOT NULL DEFAULT 0,            -- counts renewals
    leased_by     uuid,
    leased_until  timestamptz NOT NULL DEFAULT '-infinity',
    renewed_at    timestamptz,                          -- null: never
    expires_at    timestamptz,                          -- of the access token; null: unknown
    failed_at     timestamptz,                          -- when a renewal last failed, since the last one that did not
    failure       text NOT NULL DEFAULT '',             -- the reason
    PRIMARY KEY (business_id, platform, credential, store_ref_id),
    FOREIGN KEY (business_id, platform) REFERENCES platforms (business_id, name) ON DELETE CASCADE
);

-- Values that plugins keep for later calls, without secrets and personal data.
CREATE TABLE platform_values (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    store_id    bigint NOT NULL DEFAULT 0, -- 0: of the platform
    name        text NOT NULL,
    value       text NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, platform, store_id, name),
    FOREIGN KEY (business_id, platform) REFERENCES platforms (business_id, name) ON DELETE CASCADE
);

-- When the next request to an endpoint with a rate limit is due.
CREATE TABLE endpoint_rates (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    endpoint    text NOT NULL,            -- name
    subject     text NOT NULL DEFAULT '', -- the store or order that the limit counts for; '': the platform
    next_at     timestamptz NOT NULL,     -- without a burst
    PRIMARY KEY (business_id, platform, endpoint, subject)
) WITH (fillfactor = 50);
CREATE INDEX endpoint_rates_of_subjects ON endpoint_rates (next_at) WHERE subject <> '';

-- Other names of platforms, which clients have fixed in their code. Events name the platform by
-- the alias that is sent, if there is one.
CREATE TABLE platform_aliases (
    business_id bigint NOT NULL,
    alias       text NOT NULL, -- not the name of a platform of the business
    platform    text NOT NULL,
    sent        boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, alias),
    FOREIGN KEY (business_id, platform) REFERENCES platforms (business_id, name) ON DELETE CASCADE
);
CREATE UNIQUE INDEX platform_aliases_sent ON platform_aliases (business_id, platform) WHERE sent;

SELECT watch_business_changes('platform_aliases');

-- Findings of platform rules against items and stores. A finding about what an item belongs to is stored for each of
-- the items. A warning keeps nothing off the platform.
CREATE TABLE platform_findings (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    item_id     bigint NOT NULL, -- 0: of a store
    rule        text NOT NULL,
    message     text NOT NULL,
    warning     boolean NOT NULL DEFAULT false,
    store_id    bigint NOT NULL DEFAULT 0, -- 0: of an item
    entity      text NOT NULL DEFAULT '', -- what it is about: category, option_group or option; '': the item or store
    ref_id      text NOT NULL DEFAULT '', -- of the entity
    PRIMARY KEY (business_id, item_id, platform, rule, store_id, entity, ref_id)
);

-- Keys that authenticate the callbacks of aggregators. Several may be valid at once.
CREATE TABLE callback_keys (
    secret_hash bytea PRIMARY KEY, -- SHA-256 of 32 random bytes
    business_id bigint NOT NULL REFERENCES businesses (id),
    platform    text NOT NULL,
    created_at  timestamptz NOT NULL
);

-- The shared URL of a plugin, which receives the requests of its aggregator for all businesses.
CREATE TABLE plugin_shared (
    plugin_id   text PRIMARY KEY,
    secrets     bytea,                    -- sealed JSON: value by name, for all businesses; null: none
    -- The last request that was rejected.
    rejected_at timestamptz,
    rejection   text NOT NULL DEFAULT '', -- the reason
    unrouted    bigint NOT NULL DEFAULT 0 -- counts authentic requests that name no store of one business
);

-- Nonces of authenticated callbacks, so that a replay is rejected. Each is remembered while its signature is valid.
CREATE TABLE callback_nonces (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    nonce       bytea NOT NULL,       -- SHA-256 of the name of the secret and the nonce
    accepted    boolean NOT NULL,     -- false: a hub processes the request
    expires_at  timestamptz NOT NULL, -- of an unaccepted one: when the request may be resent
    PRIMARY KEY (business_id, platform, nonce)
);
CREATE INDEX callback_nonces_expiry ON callback_nonces (expires_at);

-- Plugins, with the state that operators request.
CREATE TABLE plugins (
    id                 text PRIMARY KEY,
    enabled            boolean NOT NULL DEFAULT true,
    removed            boolean NOT NULL DEFAULT false,     -- no hub runs it, even if it is still installed
    revision           bigint NOT NULL DEFAULT 1,          -- counts the requests of operators
    restarts           bigint NOT NULL DEFAULT 0,          -- counts the requested restarts
    -- If two plugins declare the same field, the declaration of the first registered plugin applies.
    registered_at      timestamptz NOT NULL DEFAULT now(),
    description        bytea,                              -- its latest description (protocol buffer); null: none
    status             text NOT NULL DEFAULT '',           -- JSON: in the last hub that reported
    reported_at        timestamptz,
    worker_seen_at     timestamptz,                        -- the last report of a worker that has it; null: never
    -- Its menus are republished after a change of the revision. They are also republished once all hubs have a
    -- changed description.
    published_revision bigint NOT NULL DEFAULT 0,
    published_digest   text NOT NULL DEFAULT ''            -- SHA-256 of the description
);

-- The state of each plugin in each hub that runs it. A hub reports every few seconds. It deletes its
-- rows when it stops. Those of a killed hub are deleted when they have no new report.
CREATE TABLE plugin_hubs (
    plugin_id          text NOT NULL,
    hub                uuid NOT NULL,
    reported_at        timestamptz NOT NULL,
    version            text NOT NULL,
    state              text NOT NULL,
    since              timestamptz NOT NULL,     -- when it entered the state
    reason             text NOT NULL DEFAULT '', -- the problem in this state; '': none
    build              text NOT NULL DEFAULT '', -- SHA-256 of the manifest that runs there; '': none
    in_flight          integer NOT NULL,
    memory             bigint NOT NULL,          -- bytes
    calls              text NOT NULL,            -- JSON: counts and times by call
    description_digest text NOT NULL DEFAULT '', -- SHA-256 of the description there; '': unknown
    PRIMARY KEY (plugin_id, hub)
) WITH (fillfactor = 50);

-- The faults of plugins, one row for each cause. Of each plugin the latest are kept.
CREATE TABLE plugin_faults (
    plugin_id   text NOT NULL,
    cause       text NOT NULL,    -- digest of kind, call and stack, or else text
    kind        text NOT NULL,    -- crash, panic, deadline, …
    ended       boolean NOT NULL, -- it ended the process
    call        text NOT NULL,    -- such as Menu.Render; '': none, or several
    count       bigint NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    -- The latest one.
    version     text NOT NULL,
    text        text NOT NULL,
    stack       text NOT NULL,    -- '': unknown
    business_id bigint NOT NULL,  -- 0: none, or several
    platform    text NOT NULL,
    about       text NOT NULL,    -- for people, such as order 12
    PRIMARY KEY (plugin_id, cause)
);

-- The requests that crashed a plugin twice. The hubs do not call this build with them.
CREATE TABLE plugin_set_aside (
    id          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    plugin_id   text NOT NULL,
    build       text NOT NULL,   -- SHA-256 of the manifest
    call        text NOT NULL,   -- such as Menu.Render
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    request     text NOT NULL,   -- id of the call to the aggregator, or a digest of the content
    version     text NOT NULL,
    store       text NOT NULL,   -- ref_id; '': none
    about       text NOT NULL,   -- for people, such as order 12
    fault       text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (plugin_id, build, call, business_id, platform, request)
);

SELECT enable_rls();
