package deliveries

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres/audit"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
)

// ResendDeliveries makes deliveries due now, in one transaction. If one is missing or cannot
// be sent now, none is retried.
func (q Store) ResendDeliveries(ctx context.Context, business core.BusinessID, ids []core.ID,
	change access.Change) error {
	// Concurrent calls lock in the same order.
	ids = slices.SortedFunc(slices.Values(ids), func(a, b core.ID) int { return bytes.Compare(a[:], b[:]) })
	err := q.db.InTx(ctx, func(tx bun.Conn) error {
		for _, id := range ids {
			err := q.sendNow(ctx, tx, business, id)
			if errors.Is(err, errWebhookOff) { // in the words of the console
				err = core.Errorf(core.Conflict, "its webhook is paused or disabled: resume the webhook first")
			}
			if core.CodeOf(err) == core.Conflict {
				return core.Errorf(core.Conflict, "delivery %s cannot be sent now, because %s", id, err)
			}
			if err != nil {
				return err
			}
			change.Object = "delivery/" + id.String()
			if err := audit.Record(ctx, q.db, tx, change); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		outbox.Wake(q.db)
	}
	return err
}
