-- When a plugin was first known. What it declares besides the others yields to theirs
-- that were known before.
ALTER TABLE plugins ADD COLUMN known_at timestamptz NOT NULL DEFAULT now();
