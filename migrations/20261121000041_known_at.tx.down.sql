ALTER TABLE plugins DROP COLUMN known_at;
