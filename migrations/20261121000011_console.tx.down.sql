DROP INDEX deliveries_of_webhook, jobs_failed;
DROP TABLE endpoint_health, attempt_counts, sign_in_attempts, sign_in_links, sessions, user_grants, users;
