DROP TABLE item_switches;
