DROP INDEX calls_pending;
ALTER TABLE platforms DROP COLUMN accept;
