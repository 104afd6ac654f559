-- The role stays granted: other databases of the server may use it.
SELECT 1;
