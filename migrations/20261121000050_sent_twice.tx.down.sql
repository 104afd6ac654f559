ALTER TABLE attempts DROP COLUMN sent_twice;
