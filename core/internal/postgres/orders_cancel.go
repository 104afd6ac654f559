package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// Cancel moves an order to Cancelled as its platform asks, as Change does. A
// cancellation whose order is not here is kept until it comes; id is 0 then.
func (o Orders) Cancel(ctx context.Context, business core.BusinessID, c order.Cancellation) (id int64, from order.State, err error) {
	if err := c.Check(); err != nil {
		return 0, "", err
	}
	kept := false
	for {
		err = o.bun.QueryRowContext(ctx, `SELECT id FROM orders WHERE business_id = ? AND platform = ? AND platform_order_id = ?`,
			business, c.Platform, c.PlatformOrderID).Scan(&id)
		switch {
		case err == nil && kept:
			return id, order.Placed, o.meet(ctx, business, id, c)
		case err == nil:
			from, err = o.Change(ctx, business, id, c.Change())
			return id, from, err
		case !errors.Is(err, sql.ErrNoRows):
			return 0, "", fmt.Errorf("looking for a cancelled order: %w", err)
		case kept:
			return 0, "", nil
		}
		// Kept before it is looked for again: an order that comes meanwhile finds it, or is found.
		if _, err := o.bun.ExecContext(ctx, `INSERT INTO early_cancellations (business_id, platform, platform_order_id, reason, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, business, c.Platform, c.PlatformOrderID, c.Reason, o.clock.Now()); err != nil {
			return 0, "", fmt.Errorf("keeping a cancellation: %w", err)
		}
		kept = true
	}
}

// meet does what a kept cancellation asks, now that its order is here. An order
// that has come to its end meanwhile stays as it is.
func (o Orders) meet(ctx context.Context, business core.BusinessID, id int64, c order.Cancellation) error {
	if _, err := o.Change(ctx, business, id, c.Change()); err != nil && core.CodeOf(err) != core.Conflict && core.CodeOf(err) != core.NotFound {
		return err
	}
	if _, err := o.bun.ExecContext(ctx, `DELETE FROM early_cancellations WHERE business_id = ? AND platform = ? AND platform_order_id = ?`,
		business, c.Platform, c.PlatformOrderID); err != nil {
		return fmt.Errorf("removing a cancellation: %w", err)
	}
	return nil
}

// MeetCancellations cancels the orders that came after their cancellations.
func (o Orders) MeetCancellations(ctx context.Context) error {
	return o.meetThose(ctx, `true`)
}

func (o Orders) meetThose(ctx context.Context, condition string, args ...any) error {
	type met struct {
		business core.BusinessID
		id       int64
		order.Cancellation
	}
	list, err := listOf(ctx, o.bun, "looking for orders that are cancelled already", func(m *met) []any {
		return []any{&m.business, &m.id, &m.Platform, &m.PlatformOrderID, &m.Reason}
	}, `SELECT o.business_id, o.id, c.platform, c.platform_order_id, c.reason FROM early_cancellations c
		JOIN orders o ON o.business_id = c.business_id AND o.platform = c.platform AND o.platform_order_id = c.platform_order_id
		WHERE `+condition+` LIMIT 1000`, args...)
	if err != nil {
		return err
	}
	for _, m := range list {
		if err := o.meet(ctx, m.business, m.id, m.Cancellation); err != nil {
			return err
		}
	}
	return nil
}

// meetTime bounds how long a round of orders looks for cancellations of its orders.
const meetTime = 2 * time.Second

// meetCancellations cancels the orders of aggregators in a round that has just been
// stored. What fails here is found by MeetCancellations.
func (b *intakeBatch) meetCancellations() {
	var keys []orderKey
	for _, p := range b.placed {
		if !p.lost && p.served != core.ServedByOwn {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return
	}
	businesses, platforms, refs := columnsOf(keys)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), meetTime)
	defer cancel()
	err := Orders{b.db}.meetThose(ctx, `(c.business_id, c.platform, c.platform_order_id) IN (SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[]))`,
		array(businesses), array(platforms), array(refs))
	if err != nil {
		b.db.log.Warn("orders that are cancelled already could not be looked for; it is tried again", "error", err)
	}
}
