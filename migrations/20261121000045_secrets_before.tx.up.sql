-- Who rotates a secret twice, since an answer got lost, verifies by the one before
-- both: it signs beside them until its time is over.
ALTER TABLE webhooks
    ADD COLUMN older_secret       bytea, -- sealed; null: none
    ADD COLUMN older_secret_until timestamptz;

-- The secret for deliveries to a callback_url is changed likewise.
ALTER TABLE businesses
    ADD COLUMN old_callback_secret         bytea, -- sealed; null: none
    ADD COLUMN old_callback_secret_until   timestamptz,
    ADD COLUMN older_callback_secret       bytea,
    ADD COLUMN older_callback_secret_until timestamptz;
