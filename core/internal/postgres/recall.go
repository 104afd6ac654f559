package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
)

// recall has every replica that delivers give back what it holds for a webhook and
// has not begun, as soon as the change that the transaction makes is committed. Where
// the word gets lost, that goes out as it was read: about a second's worth.
func recall(ctx context.Context, tx bun.Conn, business core.BusinessID, webhook int64) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_notify(?, id || ' ' || version) FROM webhooks WHERE business_id = ? AND id = ?`,
		deliveriesChannel, business, webhook); err != nil {
		return fmt.Errorf("recalling deliveries to webhook %d: %w", webhook, err)
	}
	return nil
}

// recalled hands on what recall told of, if it was that.
func (db *DB) recalled(told string) {
	var webhook, version int64
	if n, _ := fmt.Sscan(told, &webhook, &version); n == 2 && db.starter != nil {
		db.starter.Recall(webhook, version)
	}
}
