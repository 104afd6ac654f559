-- name: next_due
-- The earliest due time of stores, items and workloads, of all businesses except some.
SELECT least(
    (
        SELECT min(turn_on_at)
        FROM store_switches
        WHERE turn_on_at IS NOT NULL AND business_id <> ALL (?except::bigint[])
    ),
    (SELECT min(turn_on_at) FROM item_timers WHERE business_id <> ALL (?except::bigint[])),
    (
        SELECT min(until_at)
        FROM store_workloads
        WHERE until_at IS NOT NULL AND business_id <> ALL (?except::bigint[])
    )
)
