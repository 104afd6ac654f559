-- For how long hubs keep what has been, and when one that keeps it so long was last
-- seen. The longest of those of late counts.
CREATE TABLE retentions (
    seconds bigint PRIMARY KEY,
    seen_at timestamptz NOT NULL
);
