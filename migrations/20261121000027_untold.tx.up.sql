-- Calls that an aggregator did not take.
CREATE INDEX calls_failed ON calls (business_id, finished_at) INCLUDE (platform, kind, order_id) WHERE state = 'failed';

-- Orders of which nobody was told: no webhook was there for them when they were placed.
ALTER TABLE orders ADD COLUMN untold boolean NOT NULL DEFAULT false;
CREATE INDEX orders_untold ON orders (business_id, created_at, id) WHERE untold;

-- Requests that were carried out, but not for all of their objects.
CREATE INDEX jobs_refused ON jobs (business_id, id) WHERE state = 'done' AND NOT dry_run
    AND (kind IN ('stores', 'menu') AND result->'failed' IS NOT NULL OR kind = 'timing_groups' AND result->>'errors' <> '0');
