ALTER TABLE publications DROP COLUMN unsure;
DROP TABLE item_turn_ons;
DROP TABLE store_switches;
