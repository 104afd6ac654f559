-- What became of the last place of a rider that came to an end: done, failed or
-- skipped. The note of its line says why. The last release leaves it empty.
ALTER TABLE call_lines ADD COLUMN told text NOT NULL DEFAULT '';
