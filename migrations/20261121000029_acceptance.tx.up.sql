-- Who accepts the orders of a platform, and actions whose outcome is owed.

ALTER TABLE platforms ADD COLUMN accept text NOT NULL DEFAULT 'hub' CHECK (accept IN ('hub', 'pos'));

CREATE INDEX calls_pending ON calls (finished_at) WHERE state = 'pending';
