-- What a job is about, where those about something else do not wait for it: the rules
-- of one platform are applied while the plugin of another is down.
ALTER TABLE job_queue ADD COLUMN subject text NOT NULL DEFAULT '';
UPDATE job_queue q SET subject = j.subject FROM jobs j
    WHERE q.kind = 'recheck' AND j.business_id = q.business_id AND j.id = q.job_id;
