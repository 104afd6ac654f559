DROP TABLE unheard_events;
DROP INDEX jobs_again;
ALTER TABLE jobs DROP COLUMN again_of;
ALTER TABLE api_keys DROP COLUMN used_at;
ALTER TABLE webhooks DROP COLUMN old_secret, DROP COLUMN old_secret_until;
