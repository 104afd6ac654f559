ALTER TABLE job_queue DROP COLUMN subject;
