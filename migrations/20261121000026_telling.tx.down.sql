ALTER TABLE publications DROP COLUMN waiting;
DROP TABLE early_cancellations;
