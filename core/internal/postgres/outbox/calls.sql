-- name: queue_lines
-- Adds the ordering keys of calls to the queue. An ordering key that is queued gets a new version.
INSERT INTO call_lines AS queued (
    business_id, line, kind, platform, order_id, endpoint, call_id, seen_at, due_at, available_at
)
SELECT DISTINCT ON (business, line)
    business,
    line,
    kind,
    platform,
    order_id,
    endpoint,
    id,
    ?now::timestamptz,
    ?now::timestamptz,
    ?now::timestamptz
FROM unnest(
    ?businesses::bigint[],
    ?lines::text[],
    ?kinds::text[],
    ?platforms::text[],
    ?orders::bigint[],
    ?endpoints::bigint[],
    ?ids::uuid[]
) AS call (business, line, kind, platform, order_id, endpoint, id)
ORDER BY business, line
ON CONFLICT (business_id, line) DO UPDATE
SET version = queued.version + 1, seen_at = excluded.seen_at

-- name: insert_calls
-- Stores calls in the given order, which numbers them.
INSERT INTO calls (business_id, id, line, kind, platform, order_id, payload, actor, state, created_at, trace)
SELECT business, id, line, kind, platform, order_id, payload, actor, 'waiting', ?now, nullif(trace, '')
FROM unnest(
    ?businesses::bigint[],
    ?ids::uuid[],
    ?lines::text[],
    ?kinds::text[],
    ?platforms::text[],
    ?orders::bigint[],
    ?payloads::text[],
    ?actors::text[],
    ?traces::text[]
) WITH ORDINALITY AS call (business, id, line, kind, platform, order_id, payload, actor, trace, n)
ORDER BY n
