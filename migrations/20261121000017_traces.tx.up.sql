-- Where events, jobs and calls stand in a trace (W3C Trace Context), and which
-- plugins workers have.

ALTER TABLE events ADD COLUMN trace text; -- traceparent; null: in none
ALTER TABLE jobs ADD COLUMN trace text;
ALTER TABLE calls ADD COLUMN trace text;

ALTER TABLE plugins ADD COLUMN served_at timestamptz; -- when a worker last said that it has the plugin; null: never
