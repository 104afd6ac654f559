package outbox

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// Invalidate makes every replica release its leased but unstarted deliveries of a webhook when the
// transaction commits. If the notification is lost, deliveries of about one second are sent with
// the old settings.
func Invalidate(ctx context.Context, tx bun.Conn, business core.BusinessID, webhook int64) error {
	if _, err := tx.ExecContext(ctx,
		`SELECT pg_notify(?, id || ' ' || version) FROM webhooks WHERE business_id = ? AND id = ?`,
		DeliveriesChannel, business, webhook); err != nil {
		return fmt.Errorf("invalidating deliveries to webhook %d: %w", webhook, err)
	}
	return nil
}

// OnDeliveries returns the handler of the deliveries channel. It passes on the payload of
// Invalidate and wakes the engine.
func OnDeliveries(db *postgres.DB, wake func()) func(payload string) {
	return func(payload string) {
		var webhook, version int64
		n, _ := fmt.Sscan(payload, &webhook, &version)
		if starter := replicaOf(db).starter; n == 2 && starter != nil {
			starter.Invalidate(webhook, version)
		}
		wake()
	}
}
