-- name: store_unrouted
-- Adds the counts of unrouted events, in the order of the key, so that two replicas do not deadlock. After a gap
-- the count starts from zero.
INSERT INTO unrouted_events AS stored (business_id, event_type, at, count)
SELECT business, event_type, at, count
FROM unnest(?businesses::bigint[], ?events::text[], ?at::timestamptz[], ?counts::bigint[])
    AS counted (business, event_type, at, count)
ORDER BY business, event_type
ON CONFLICT (business_id, event_type) DO UPDATE
SET
    at = greatest(stored.at, excluded.at),
    count = excluded.count + CASE
        WHEN stored.at > excluded.at - ?gap_seconds * interval '1 second' THEN stored.count
        ELSE 0
    END
