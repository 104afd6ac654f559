DROP TABLE platform_aliases;
