DROP TABLE stores;
DROP SEQUENCE store_ids;
