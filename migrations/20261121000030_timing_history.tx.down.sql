DROP TRIGGER keep_made ON timing_groups;
DROP TRIGGER keep_changed ON timing_groups;
DROP FUNCTION keep_timing();
DROP TYPE kept_timing;
DELETE FROM revision_parts WHERE tbl = 'timing_groups';
