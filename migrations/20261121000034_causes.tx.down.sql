DROP INDEX jobs_failed_objects;
DROP INDEX deliveries_failed_of_webhook;
DROP INDEX publications_failed;
