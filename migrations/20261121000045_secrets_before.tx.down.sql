ALTER TABLE businesses DROP COLUMN old_callback_secret, DROP COLUMN old_callback_secret_until,
    DROP COLUMN older_callback_secret, DROP COLUMN older_callback_secret_until;
ALTER TABLE webhooks DROP COLUMN older_secret, DROP COLUMN older_secret_until;
