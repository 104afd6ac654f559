-- Plugins as operators want them, platforms with what a plugin needs, and what
-- the rules of platforms have against items.

CREATE TABLE plugins (
    id          text PRIMARY KEY,
    enabled     boolean NOT NULL DEFAULT true,
    revision    bigint NOT NULL DEFAULT 1, -- goes up when an operator wants something of it
    description bytea,                     -- as it last said of itself (protocol buffer); null: never yet
    status      text NOT NULL DEFAULT '',  -- JSON of its status in the hub that told last
    told_at     timestamptz
);

ALTER TABLE platforms
    ADD COLUMN settings  text NOT NULL DEFAULT '',  -- a JSON object that the plugin accepted, or nothing
    ADD COLUMN addresses text NOT NULL DEFAULT '{}', -- JSON: base address by name of endpoint
    ADD COLUMN secrets   bytea;                      -- sealed JSON: value by name

CREATE TABLE platform_findings (
    business_id bigint NOT NULL,
    platform    text NOT NULL,
    item_id     bigint NOT NULL,
    rule        text NOT NULL,
    message     text NOT NULL,
    PRIMARY KEY (business_id, item_id, platform, rule)
);
