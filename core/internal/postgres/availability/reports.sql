-- name: report_store
-- Stores what a platform reports about a store, unless the stored report is newer, or says the same at the same time.
-- Returns whether the state changed, and the name of the platform in events. A first report of an open store changes
-- nothing.
WITH stored AS (
    INSERT INTO store_reports AS report (
        business_id, store_id, platform, state, reason, since, until_at, reported_at
    )
    VALUES (?business, ?store, ?platform, ?state, ?reason, ?at, ?until, ?at)
    ON CONFLICT (business_id, store_id, platform) DO UPDATE
    SET
        state = excluded.state,
        reason = excluded.reason,
        since = CASE
            WHEN (report.state, report.reason, report.until_at)
                IS DISTINCT FROM (excluded.state, excluded.reason, excluded.until_at) THEN excluded.since
            ELSE report.since
        END,
        until_at = excluded.until_at,
        reported_at = excluded.reported_at
    WHERE report.reported_at < excluded.reported_at
        OR report.reported_at = excluded.reported_at
        AND (report.state, report.reason, report.until_at)
            IS DISTINCT FROM (excluded.state, excluded.reason, excluded.until_at)
    RETURNING since = reported_at AND NOT (xmax = 0 AND state = 'open') AS changed
)
SELECT stored.changed, ?sent_name
FROM stored
JOIN platforms platform ON platform.business_id = ?business AND platform.name = ?platform
