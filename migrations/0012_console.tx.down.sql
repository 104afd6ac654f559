DROP TABLE saved_views, webhook_health, attempt_counts;
