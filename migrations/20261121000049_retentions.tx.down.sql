DROP TABLE retentions;
