ALTER TABLE plugins DROP COLUMN published_revision;
DROP TABLE publications;
