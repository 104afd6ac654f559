DROP FUNCTION opens_in, open_at, slots_on, special_slots;
DROP TABLE stores;
DROP SEQUENCE store_ids;
