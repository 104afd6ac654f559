DROP INDEX events_by_reference;
