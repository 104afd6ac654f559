-- How far a job has come that works in many transactions: it goes on there.
ALTER TABLE jobs ADD COLUMN cursor jsonb;
