DROP TABLE sent_menus;
DROP TABLE publications;
