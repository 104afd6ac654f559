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
	text = "the order is released"
	err = outbox.RunKeyed(ctx, s.db, func(tx bun.Conn, box *outbox.Outbox) error {
		subject, state, err := s.lock(ctx, tx, to)
		if err != nil {
			return err
		}
		now := s.db.Clock().Now()
		body, err := order.Released(subject, state, now)
		if err != nil {
			return err
		}
		first, err := s.recordIn(ctx, tx, to, f, "")
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

// lock locks the order of a follow-up.
func (s Store) lock(ctx context.Context, tx bun.Conn, to target) (subject order.Subject, state order.State, err error) {
	subject.OrderID = to.id
	if err := tx.QueryRowContext(ctx, queries.With("lock_order", postgres.Args{"business": to.business,
		"order": to.id})).Scan(&subject.Platform, &subject.EventAlias, &subject.PlatformOrderID, &state,
		&subject.StoreRefID); err != nil {
		return subject, state, fmt.Errorf("locking the order of a follow-up: %w", err)
	}
	return subject, state, nil
}
