DROP TABLE untold_switches;
ALTER TABLE orders DROP COLUMN order_type;
