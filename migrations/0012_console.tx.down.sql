DROP TABLE webhook_health, attempt_counts;
