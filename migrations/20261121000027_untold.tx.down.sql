DROP INDEX jobs_refused;
ALTER TABLE orders DROP COLUMN untold;
DROP INDEX calls_failed;
