-- name: webhook_target
-- The columns of a target from webhooks.
webhook.id,
webhook.version,
webhook.url,
webhook.retrial_interval_units,
webhook.headers,
webhook.event_type_header,
webhook.event_type_header_value,
webhook.secret,
webhook.previous_secret,
webhook.previous_secret_expires_at,
webhook.previous_secret_2,
webhook.previous_secret_2_expires_at

-- name: probed_webhook_target
-- Whether the circuit of a webhook is open, and the columns of its target.
EXISTS (
    SELECT 1
    FROM endpoint_circuits circuit
    WHERE circuit.endpoint = webhook.id AND circuit.probing_since IS NOT NULL
) AS probed,
-- include: webhook_target

-- name: callback_target
-- The columns of the target of callback_url deliveries from businesses.
0 AS id,
0 AS version,
'' AS url,
'minutes' AS retrial_interval_units,
''::bytea AS headers,
'' AS event_type_header,
'name' AS event_type_header_value,
business.callback_secret AS secret,
business.previous_callback_secret AS previous_secret,
business.previous_callback_secret_expires_at AS previous_secret_expires_at,
business.previous_callback_secret_2 AS previous_secret_2,
business.previous_callback_secret_2_expires_at AS previous_secret_2_expires_at

-- name: subscribed_targets
-- The active webhooks of event types; one row without a webhook if there is none. The snapshot is that of the
-- statement, if any; uncommitted is whether its own transaction has changed what is cached of the business.
SELECT
    route.business_id,
    route.event_type,
    (SELECT cache_snapshot()) AS snapshot,
    EXISTS (
        SELECT 1
        FROM business_changes change
        WHERE change.business_id = route.business_id AND change.changed_by = pg_current_xact_id_if_assigned()
    ) AS uncommitted,
    -- include: probed_webhook_target
FROM unnest(?businesses::bigint[], ?types::text[]) AS route (business_id, event_type)
LEFT JOIN webhooks webhook
    ON webhook.business_id = route.business_id AND webhook.event_type = route.event_type AND webhook.active
ORDER BY webhook.id

-- name: substitute_targets
-- The active webhooks of another event type, for the event types without an active webhook.
SELECT
    webhook.business_id,
    route.event_type,
    -- include: probed_webhook_target
FROM unnest(?businesses::bigint[], ?types::text[]) AS route (business_id, event_type)
JOIN webhooks webhook
    ON webhook.business_id = route.business_id AND webhook.event_type = ?substitute AND webhook.active
WHERE NOT EXISTS (
    SELECT 1
    FROM webhooks own
    WHERE own.business_id = route.business_id AND own.event_type = route.event_type AND own.active
)
ORDER BY webhook.id

-- name: single_targets
-- Webhooks, given as pairs of business and id.
SELECT
    webhook.business_id,
    webhook.id AS route_webhook,
    -- include: probed_webhook_target
FROM webhooks webhook
WHERE (webhook.business_id, webhook.id) IN ?webhooks

-- name: callback_targets
-- The targets of callback_urls.
SELECT
    business.id AS business_id,
    route.url AS callback,
    EXISTS (
        SELECT 1
        FROM endpoint_circuits circuit
        WHERE circuit.endpoint = route.endpoint AND circuit.probing_since IS NOT NULL
    ) AS probed,
    -- include: callback_target
FROM unnest(?businesses::bigint[], ?urls::text[], ?endpoints::bigint[]) AS route (business_id, url, endpoint)
JOIN businesses business ON business.id = route.business_id
