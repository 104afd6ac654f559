package intake

import (
	"context"
	"errors"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
)

// applyTimeout bounds the search for what waits for a batch of orders.
const applyTimeout = 2 * time.Second

// Applier applies what waits for orders that have been placed. The orders are given by columns.
type Applier func(ctx context.Context, businesses []int64, platforms, platformOrderIDs []string) error

// applyWaiting applies stored cancellations and follow-ups to the orders of a batch that has just been committed.
// Errors are retried by ApplyPendingCancellations and by the store of the follow-ups.
func (b *intakeBatch) applyWaiting(followUps []Applier) {
	var keys []orderKey
	for _, p := range b.placed {
		if p.stored && p.servedBy != core.ServedByMerchant {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return
	}
	businesses, platforms, refs := columnsOf(keys)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), applyTimeout)
	defer cancel()
	var followed, cancelled bool
	err := b.db.Bun().QueryRowContext(ctx, queries.With("waiting_for_orders", postgres.Args{
		"businesses": postgres.Array(businesses), "platforms": postgres.Array(platforms), "refs": postgres.Array(refs),
	})).Scan(&followed, &cancelled)
	for _, apply := range followUps {
		if followed && err == nil {
			err = apply(ctx, businesses, platforms, refs)
		}
	}
	if cancelled {
		err = errors.Join(err, orders.New(b.db).ApplyPending(ctx,
			`(c.business_id, c.platform, c.platform_order_id) IN
				(SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[]))`,
			postgres.Array(businesses), postgres.Array(platforms), postgres.Array(refs)))
	}
	if err != nil {
		b.db.Log().Warn("applying what waited for orders failed; it is retried", "error", err)
	}
}
