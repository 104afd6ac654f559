ALTER TABLE platforms DROP COLUMN refused_at, DROP COLUMN refused_for;
DROP TABLE refused_orders;
