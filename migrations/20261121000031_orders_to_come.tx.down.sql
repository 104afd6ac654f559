DROP INDEX orders_to_come;
ALTER TABLE orders DROP COLUMN scheduled_for;
