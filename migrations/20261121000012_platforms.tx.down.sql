DROP TABLE platform_findings;
ALTER TABLE platforms DROP COLUMN settings, DROP COLUMN addresses, DROP COLUMN secrets;
DROP TABLE plugins;
