package consolelists

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// EventBody returns the body of an event, or NotFound after its retention.
func (c Store) EventBody(ctx context.Context, business core.BusinessID, event core.ID) ([]byte, error) {
	var stored []byte
	if err := c.db.Tenant(business).QueryRowContext(ctx, `SELECT body FROM events WHERE id = ? AND business_id = ?`,
		event, business).Scan(&stored); err != nil {
		return nil, postgres.NotFound(err, "the event is no longer kept")
	}
	return c.db.Decompress(stored)
}

// Bounds of the search for an earlier delivery about the same subject.
const (
	previousRows = 50
	previousSize = 1 << 20 // stored bytes of a body
)

// PreviousBody returns the webhook's previous delivery of the same event type and subject,
// with its body. It returns NotFound if the latest previousRows contain none.
func (c Store) PreviousBody(ctx context.Context, business core.BusinessID,
	d webhook.DeliveryRecord) (core.ID, []byte, error) {
	body, err := c.EventBody(ctx, business, d.EventID)
	if err != nil {
		return core.ID{}, nil, err
	}
	const candidates = `SELECT id, event_id FROM %s WHERE business_id = ?0 AND %s = ?1 AND id < ?2
		AND event_type = ?3 AND event_id <> ?6 ORDER BY id DESC LIMIT ?4`
	rows, err := c.db.Tenant(business).QueryContext(ctx, `SELECT d.id, e.body FROM (
			(`+fmt.Sprintf(candidates, "deliveries", "webhook_id")+`) UNION ALL (`+
		fmt.Sprintf(candidates, "delivery_queue", "endpoint")+`) ORDER BY id DESC LIMIT ?4) d
		JOIN LATERAL (SELECT body FROM events WHERE id = d.event_id AND business_id = ?0 AND NOT test
			AND length(body) < ?5) e ON true ORDER BY d.id DESC`,
		business, d.WebhookID, d.ID, d.EventType, previousRows, previousSize, d.EventID)
	if err != nil {
		return core.ID{}, nil, fmt.Errorf("finding the previous delivery: %w", err)
	}
	defer rows.Close()
	subject := console.SubjectOf(body)
	for rows.Next() {
		var id core.ID
		var packed []byte
		if err := rows.Scan(&id, &packed); err != nil {
			return core.ID{}, nil, fmt.Errorf("finding the previous delivery: %w", err)
		}
		candidate, err := c.db.Decompress(packed)
		if err != nil {
			return core.ID{}, nil, err
		}
		if console.SubjectOf(candidate) == subject {
			return id, candidate, nil
		}
	}
	if err := rows.Err(); err != nil {
		return core.ID{}, nil, err
	}
	return core.ID{}, nil, core.Errorf(core.NotFound, "there is no earlier delivery for the same object")
}
