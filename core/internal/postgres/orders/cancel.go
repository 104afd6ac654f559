package orders

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/order"
)

// Cancel cancels an order at its platform's request, like Change. If the order has not arrived
// yet, the cancellation is stored until it does, and id is 0.
func (o Store) Cancel(ctx context.Context, business core.BusinessID,
	c order.Cancellation) (id int64, from order.State, err error) {
	if err := c.Check(); err != nil {
		return 0, "", err
	}
	stored := false
	for {
		err = o.db.Bun().QueryRowContext(ctx,
			`SELECT id FROM orders WHERE business_id = ? AND platform = ? AND platform_order_id = ?`,
			business, c.Platform, c.PlatformOrderID).Scan(&id)
		switch {
		case err == nil && stored:
			return id, order.Placed, o.applyCancellation(ctx, business, id, c)
		case err == nil:
			from, err = o.Change(ctx, business, id, c.Change())
			return id, from, err
		case !errors.Is(err, sql.ErrNoRows):
			return 0, "", fmt.Errorf("finding a cancelled order: %w", err)
		case stored:
			return 0, "", nil
		}
		// Stored before the second lookup, so that an order that arrives meanwhile is not missed.
		if _, err := o.db.Bun().ExecContext(ctx,
			`INSERT INTO pending_cancellations (business_id, platform, platform_order_id, reason, at)
				VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, business, c.Platform, c.PlatformOrderID, c.Reason,
			o.db.Clock().Now()); err != nil {
			return 0, "", fmt.Errorf("storing a cancellation: %w", err)
		}
		stored = true
	}
}

// applyCancellation applies a stored cancellation to its order. An order that has ended meanwhile is left
// unchanged.
func (o Store) applyCancellation(ctx context.Context, business core.BusinessID, id int64, c order.Cancellation) error {
	if _, err := o.Change(ctx, business, id, c.Change()); err != nil && core.CodeOf(err) != core.Conflict &&
		core.CodeOf(err) != core.NotFound {
		return err
	}
	return postgres.Exec(ctx, o.db.Bun(), "removing a cancellation",
		`DELETE FROM pending_cancellations WHERE business_id = ? AND platform = ? AND platform_order_id = ?`,
		business, c.Platform, c.PlatformOrderID)
}

// ApplyPendingCancellations cancels the orders that arrived after their cancellations.
func (o Store) ApplyPendingCancellations(ctx context.Context) error {
	return o.ApplyPending(ctx, `true`)
}

// ApplyPending applies the stored cancellations that meet a condition, on c, to their orders.
func (o Store) ApplyPending(ctx context.Context, condition string, args ...any) error {
	type pendingOrder struct {
		business core.BusinessID
		id       int64
		order.Cancellation
	}
	list, err := postgres.Collect(ctx, o.db.Bun(), "looking for orders that are cancelled already",
		func(m *pendingOrder) []any {
			return []any{&m.business, &m.id, &m.Platform, &m.PlatformOrderID, &m.Reason}
		}, bun.SafeQuery(`SELECT o.business_id, o.id, c.platform, c.platform_order_id, c.reason
			FROM pending_cancellations c
		JOIN orders o ON o.business_id = c.business_id AND o.platform = c.platform
			AND o.platform_order_id = c.platform_order_id
		WHERE `+condition+` LIMIT 1000`, args...))
	if err != nil {
		return err
	}
	for _, m := range list {
		if err := o.applyCancellation(ctx, m.business, m.id, m.Cancellation); err != nil {
			return err
		}
	}
	return nil
}
