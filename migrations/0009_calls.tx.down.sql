DROP TABLE outcome_tasks, call_attempts, polls, call_queue, calls;
DROP FUNCTION extend_location_trail();
