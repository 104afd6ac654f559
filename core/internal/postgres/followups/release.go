package followups

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

// applyRelease publishes that the kitchen may prepare an order, once.
func (s Store) applyRelease(ctx context.Context, to target, f order.FollowUp) (text string, err error) {
	err = s.run(ctx, to, f, func(tx bun.Conn, box *outbox.Outbox) error {
		text = "the order is released"
		locked, err := s.read(ctx, tx, queries.With("lock_order", to.args()), to)
		if err != nil {
			return err
		}
		now := s.db.Clock().Now()
		body, err := order.Released(locked.Subject, locked.State, now)
		if err != nil {
			return err
		}
		first, err := s.record(ctx, tx, to, f, "")
		if err != nil {
			return err
		}
		if !first {
			text = "the order was released before, nothing changed"
			return nil
		}
		return box.Publish(ctx, tx, core.Event{ID: core.NewID(now), Business: to.business, Type: core.OrderReleased,
			At: now, Body: body, OrderID: to.id, Trace: core.TraceFromContext(ctx)})
	})
	return text, err
}

// storedOrder is the order of a follow-up.
type storedOrder struct {
	order.Original
	content core.ID // the event whose body is its present content
	erased  bool    // its personal data
}

// args are the arguments of the statements order_of and lock_order.
func (t target) args() postgres.Args { return postgres.Args{"business": t.business, "order": t.id} }

// read reads the order of a follow-up by one of these statements.
func (s Store) read(ctx context.Context, in bun.IDB, query string, of target) (o storedOrder, err error) {
	o.OrderID = of.id
	if err := in.QueryRowContext(ctx, query).Scan(&o.Platform, &o.EventAlias, &o.PlatformOrderID, &o.State,
		&o.StoreRefID, &o.Kind, &o.Mode, &o.Bulk, &o.Created, &o.content, &o.erased); err != nil {
		return o, fmt.Errorf("reading the order of a follow-up: %w", err)
	}
	return o, nil
}
