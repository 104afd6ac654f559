ALTER TABLE call_lines DROP COLUMN told;
