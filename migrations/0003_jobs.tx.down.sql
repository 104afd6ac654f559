DROP TABLE job_queue, jobs;
