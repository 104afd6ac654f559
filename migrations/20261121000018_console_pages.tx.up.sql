-- What aggregators were sent, beside what they answered.
ALTER TABLE call_attempts ADD COLUMN request_body bytea NOT NULL DEFAULT ''; -- the first 4 KiB
COMMENT ON COLUMN call_lines.payload IS 'of a location: JSON, also after it was told';

ALTER TABLE plugins ADD COLUMN restarts bigint NOT NULL DEFAULT 0; -- how often an operator asked for one

-- How each plugin fares in each hub that runs it. A hub tells every few seconds;
-- what it told is forgotten a minute after it stopped.
CREATE TABLE plugin_hubs (
    plugin_id text NOT NULL,
    hub       uuid NOT NULL,
    told_at   timestamptz NOT NULL,
    version   text NOT NULL,
    state     text NOT NULL,
    in_flight integer NOT NULL,
    memory    bigint NOT NULL, -- bytes
    calls     text NOT NULL,   -- JSON: counts and times by call
    PRIMARY KEY (plugin_id, hub)
) WITH (fillfactor = 50);

-- When a secret of a platform was set; the value lies sealed with the others.
ALTER TABLE platforms ADD COLUMN secrets_at text NOT NULL DEFAULT '{}'; -- JSON: moment by name
