DROP TABLE callback_keys, call_attempts, call_lines, calls, rider_statuses;
