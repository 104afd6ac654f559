-- name: create_webhook
INSERT INTO webhooks (
    business_id,
    event_type,
    url,
    active,
    retrial_interval_units,
    headers,
    header_names,
    event_type_header,
    event_type_header_value,
    secret,
    disabled_at,
    created_at,
    updated_at
)
VALUES (
    ?business,
    ?event_type,
    ?url,
    ?active,
    ?units,
    ?headers,
    ?header_names,
    ?event_header,
    ?event_value,
    ?secret,
    CASE WHEN NOT ?active THEN ?created_at::timestamptz END,
    ?created_at,
    ?updated_at
)
RETURNING id

-- name: change_webhook
UPDATE webhooks
SET
    url = ?url,
    active = ?active,
    retrial_interval_units = ?units,
    headers = ?headers,
    header_names = ?header_names,
    headers_changed_at = CASE WHEN ?headers_changed THEN ?updated_at ELSE headers_changed_at END,
    event_type_header = ?event_header,
    event_type_header_value = ?event_value,
    disabled_reason = ?disabled_reason,
    disabled_at = CASE WHEN NOT ?active THEN coalesce(disabled_at, ?updated_at) END,
    updated_at = ?updated_at,
    version = version + 1
WHERE business_id = ?business AND id = ?id

-- name: reschedule_retries
-- Moves the waiting retries of a webhook whose units have changed. The differences are those of the waits, in seconds.
UPDATE delivery_queue queue
SET due_at = waiting.due_at, available_at = waiting.due_at
FROM (
    SELECT
        business_id,
        id,
        greatest(due_at + (?differences::bigint[])[attempts - prior_attempts] * interval '1 second', ?now) AS due_at
    FROM delivery_queue
    WHERE business_id = ?business
        AND endpoint = ?webhook
        AND owner IS NULL
        AND attempts > prior_attempts
        AND due_at > ?now
    ORDER BY id
    FOR UPDATE
) waiting
WHERE queue.business_id = waiting.business_id AND queue.id = waiting.id

-- name: reset_health
-- Forgets what the attempts of a webhook said, because its URL or headers have changed.
INSERT INTO webhook_health (business_id, webhook_id, reset_at)
VALUES (?business, ?webhook, ?now)
ON CONFLICT (business_id, webhook_id) DO UPDATE
SET
    reset_at = excluded.reset_at,
    succeeded_at = NULL,
    failed_at = NULL,
    failing_since = NULL,
    status = 0,
    error_class = '',
    error = '',
    delivery_id = NULL
