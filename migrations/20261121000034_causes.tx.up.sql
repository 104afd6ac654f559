-- Menus that a platform did not take, by the platform.
CREATE INDEX publications_failed ON publications (business_id, platform) WHERE state = 'failed';

-- Deliveries that were given up, by the webhook.
CREATE INDEX deliveries_failed_of_webhook ON deliveries (business_id, webhook_id, id) WHERE state = 'failed';

-- Jobs by the objects that they could not apply.
CREATE INDEX jobs_failed_objects ON jobs USING gin ((result->'failed') jsonb_path_ops) WHERE result->'failed' IS NOT NULL;
