DROP INDEX calls_of_actions;
