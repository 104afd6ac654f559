ALTER TABLE plugins DROP COLUMN removed;
