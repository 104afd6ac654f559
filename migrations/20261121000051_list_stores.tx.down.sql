ALTER TABLE businesses DROP COLUMN list_stores;
