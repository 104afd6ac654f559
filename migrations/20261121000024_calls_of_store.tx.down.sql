DROP INDEX calls_of_line;
