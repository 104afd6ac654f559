DROP INDEX publications_settled;
DROP INDEX audit_of_object;
ALTER TABLE endpoint_health DROP COLUMN anew_at;
