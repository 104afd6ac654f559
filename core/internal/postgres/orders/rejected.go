package orders

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/order"
)

// maxRejectedOrders is the number of rejected orders stored per business.
const maxRejectedOrders = 500

// Bounds of the batches: concurrent transactions, orders per transaction, waiting orders.
const (
	rejectedMaxConcurrent = 1
	rejectedMaxBatch      = 128
	rejectedMaxWaiting    = 1024
)

// RecordRejected stores a rejected order; it is durable when RecordRejected returns. A repeated
// rejection increases a counter. The latest of each business are kept. It returns Unavailable, and
// stores nothing, if too many orders wait.
func (o Store) RecordRejected(ctx context.Context, rejected order.Rejection) error {
	_, err := rejectionBatcherOf(o.db).Do(ctx, rejected)
	return err
}

// rejectionBatcher batches rejected orders.
type rejectionBatcher struct {
	postgres.Batcher[order.Rejection, struct{}]
}

func rejectionBatcherOf(db *postgres.DB) *rejectionBatcher {
	return postgres.StateOf(db, func(db *postgres.DB) *rejectionBatcher {
		return &rejectionBatcher{postgres.Batcher[order.Rejection,
			struct{}]{Run: func(ctx context.Context, list []order.Rejection) []postgres.Result[struct{}] {
			return storeRejected(ctx, db, list)
		}, MaxConcurrent: rejectedMaxConcurrent, MaxBatch: rejectedMaxBatch, MaxWaiting: rejectedMaxWaiting}}
	})
}

// storeRejected runs a batch. A lock admits one hub at a time, because their rows overlap.
func storeRejected(ctx context.Context, db *postgres.DB, list []order.Rejection) []postgres.Result[struct{}] {
	index := map[orderKey]int{}
	var keys []orderKey
	var stores, reasons []string
	var times []int64
	for _, r := range list {
		key := orderKey{r.Business, r.Platform, r.PlatformOrderID}
		i, known := index[key]
		if !known {
			i, index[key] = len(keys), len(keys)
			keys, stores, reasons, times = append(keys, key), append(stores, ""), append(reasons, ""), append(times, 0)
		}
		stores[i], reasons[i], times[i] = r.Store, r.Reason, times[i]+1
	}
	businesses, platforms, refs := columnsOf(keys)
	err := db.InTx(ctx, func(tx bun.Conn) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('rejected_orders'))`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, queries.With("store_rejected", postgres.Args{
			"businesses": postgres.Array(businesses), "platforms": postgres.Array(platforms),
			"refs": postgres.Array(refs), "stores": postgres.Array(stores), "reasons": postgres.Array(reasons),
			"rejections": postgres.Array(times), "now": db.Clock().Now(),
		})); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM rejected_orders r USING unnest(?::bigint[]) AS b (id)
			WHERE r.business_id = b.id AND r.last_at <= (SELECT last_at FROM rejected_orders WHERE business_id = b.id
				ORDER BY last_at DESC OFFSET ? LIMIT 1)`,
			postgres.Array(businesses), maxRejectedOrders)
		return err
	})
	if err != nil {
		err = fmt.Errorf("storing %d rejected orders: %w", len(list), err)
	}
	return postgres.FailAll[struct{}](len(list), err)
}
