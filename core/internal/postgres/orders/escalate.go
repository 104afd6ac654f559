package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/sweep"
	"github.com/servery-hub/servery/core/order"
)

// EscalationWindow bounds the age of the orders that Escalate checks. After a longer outage of all
// hubs, older orders need no alert.
const EscalationWindow = 24 * time.Hour

// Escalate marks the orders whose acknowledgement is overdue and returns their number. The
// limit is that of the business, else within; 0 means no limit.
//
// Every order is checked once, when it reaches the limit, by one replica at a time. The limit
// must exceed the time from the creation of an order to its commit.
func (o Store) Escalate(ctx context.Context, within time.Duration) (n int, err error) {
	err = sweep.Run(ctx, o.db, "orders", func(tx bun.Conn, from time.Time) (to time.Time, err error) {
		now := o.db.Clock().Now()
		if to = now.Add(-within); within == 0 || to.Before(from) {
			to = from
		}
		if n, err = o.escalate(ctx, tx, now, from, within); err != nil {
			return from, err
		}
		_, err = tx.ExecContext(ctx, queries.With("store_cursors", postgres.Args{
			"now": now, "within_seconds": int(within / time.Second),
		}))
		if err != nil {
			return from, fmt.Errorf("storing the sweep cursor of orders: %w", err)
		}
		return to, nil
	})
	return n, err
}

// escalate checks the orders that have reached their limit since the last check. from is the cursor
// of businesses without their own cursor.
func (o Store) escalate(ctx context.Context, tx bun.Conn, now, from time.Time, within time.Duration) (int, error) {
	overdue, err := postgres.Collect(ctx, tx, "finding unacknowledged orders", func(o *trackedKey) []any {
		return []any{&o.business, &o.order}
	}, bun.SafeQuery(queries.With("overdue", postgres.Args{
		"now": now, "from": from, "within_seconds": int(within / time.Second),
		"back_seconds": int(EscalationWindow / time.Second), "placed": order.Placed,
	})))
	if err != nil || len(overdue) == 0 {
		return 0, err
	}
	businesses, ids := idsOf(overdue)
	// Locked in the usual key order, and checked again.
	result, err := tx.ExecContext(ctx, `UPDATE orders o SET escalated_at = ?0 FROM (
			SELECT business_id, id FROM orders
			WHERE (business_id, id) IN (SELECT * FROM unnest(?1::bigint[], ?2::bigint[]))
				AND state = ?3 AND escalated_at IS NULL ORDER BY business_id, id FOR UPDATE) w
		WHERE o.business_id = w.business_id AND o.id = w.id`, now, postgres.Array(businesses), postgres.Array(ids),
		order.Placed)
	if err != nil {
		return 0, fmt.Errorf("escalating orders: %w", err)
	}
	marked, err := result.RowsAffected()
	return int(marked), err
}
