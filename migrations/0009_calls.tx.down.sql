DROP TABLE call_attempts, call_queue, calls;
