-- Hubs of different versions of a plugin: its platforms are published anew once those
-- that run agree on what it says of itself.
ALTER TABLE plugins ADD COLUMN published_about text NOT NULL DEFAULT ''; -- SHA-256 of the description at which they were last
ALTER TABLE plugin_hubs ADD COLUMN about text NOT NULL DEFAULT ''; -- SHA-256 of the description there; empty: not known
UPDATE plugins SET published_about = encode(sha256(description), 'hex') WHERE description IS NOT NULL;
