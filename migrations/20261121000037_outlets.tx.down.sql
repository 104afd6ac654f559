ALTER TABLE publications DROP COLUMN outlet;
