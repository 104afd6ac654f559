package webhooks

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

// SwitchWebhook pauses or resumes a webhook. It returns Conflict if the webhook is already in
// that state. Resuming releases its held deliveries.
func (w Store) SwitchWebhook(ctx context.Context, business core.BusinessID, id int64, active bool,
	change access.Change) error {
	err := w.db.InTx(ctx, func(tx bun.Conn) error {
		sub, err := w.lock(ctx, tx, business, id)
		if err != nil {
			return err
		}
		if sub.Active == active {
			return core.Errorf(core.Conflict, "nothing was done, because the webhook has changed: reload the page")
		}
		change.Object = fmt.Sprintf("webhook/%d", id)
		change.Before, change.After = map[string]any{"active": sub.Active}, map[string]any{"active": active}
		before := sub
		sub.Active, sub.UpdatedAt = active, w.db.Clock().Now()
		if active {
			sub.DisabledReason = ""
		}
		if err := w.write(ctx, tx, before, sub); err != nil {
			return err
		}
		return audit.Record(ctx, w.db, tx, change)
	})
	if err == nil && active {
		outbox.Wake(w.db)
	}
	return err
}

// ChangeWebhook changes the fields of a webhook that the input sets.
func (w Store) ChangeWebhook(ctx context.Context, business core.BusinessID, id int64, input webhook.Input,
	change access.Change) error {
	return w.db.InTx(ctx, func(tx bun.Conn) error {
		sub, err := w.lock(ctx, tx, business, id)
		if err != nil {
			return err
		}
		before := sub
		if err := input.Apply(&sub, w.db.Clock().Now()); err != nil {
			return err
		}
		return w.change(ctx, tx, change, before, sub)
	})
}
