DROP TABLE outcome_tasks, call_attempts, call_queue, calls;
