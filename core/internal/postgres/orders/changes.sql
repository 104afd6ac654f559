-- name: read_acknowledgements
-- prepare: businesses bigint[], orders bigint[], kind text
-- The preparation times of orders, or -1, and whether a call has acknowledged them at their platforms.
SELECT
    wanted.business,
    wanted.id,
    coalesce(
        (
            SELECT step.prep_time_mins
            FROM order_states step
            WHERE step.business_id = wanted.business AND step.order_id = wanted.id AND step.prep_time_mins IS NOT NULL
            ORDER BY step.n DESC
            LIMIT 1
        ),
        -1
    ),
    EXISTS (
        SELECT 1
        FROM calls call
        WHERE call.business_id = wanted.business AND call.order_id = wanted.id AND call.kind = ?kind
    )
FROM unnest(?businesses, ?orders) AS wanted (business, id)

-- name: change_orders
-- prepare: now timestamptz, businesses bigint[], orders bigint[], numbers integer[], last boolean[], states text[]
-- prepare: sequences integer[], messages text[], reason_codes text[], prep_times integer[], actors text[]
-- prepare: items text[]
-- Stores changes of the state of locked orders. The last change of each order has its state and number of events.
WITH
change AS MATERIALIZED (
    SELECT *
    FROM unnest(
        ?businesses, ?orders, ?numbers, ?last, ?states, ?sequences, ?messages, ?reason_codes, ?prep_times, ?actors,
        ?items
    ) AS change (business, id, number, last, state, sequence, message, reason_code, prep_time, actor, items)
),
changed AS (
    UPDATE orders
    SET state = change.state, events = change.sequence, updated_at = ?now
    FROM change
    WHERE change.last AND orders.business_id = change.business AND orders.id = change.id
)
INSERT INTO order_states (business_id, order_id, n, state, at, message, reason_code, prep_time_mins, actor, items)
SELECT
    business,
    id,
    number + coalesce(
        (SELECT max(n) FROM order_states step WHERE step.business_id = change.business AND step.order_id = change.id),
        0
    ),
    state,
    ?now,
    message,
    reason_code,
    nullif(prep_time, -1),
    actor,
    nullif(items, '')
FROM change
