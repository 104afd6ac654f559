// Package rejections stores the orders that the hub rejected.
package rejections

import (
	"context"
	"embed"
	"fmt"
	"sync"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/order"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Store stores rejected orders.
type Store struct{ db *postgres.DB }

// New returns a Store that uses db.
func New(db *postgres.DB) Store { return Store{db} }

// maxRejectedOrders is the number of rejected orders stored per business.
const maxRejectedOrders = 500

// Bounds of the batches: concurrent transactions, orders per transaction, waiting orders.
const (
	rejectedMaxConcurrent = 1
	rejectedMaxBatch      = 128
	rejectedMaxWaiting    = 1024
)

// RecordRejected stores a rejected order; it is durable when RecordRejected returns nil. A repeated
// rejection increases a counter. The latest of each business are kept. If it returns an error, the
// next call stores the order, or StorePendingRejected.
func (o Store) RecordRejected(ctx context.Context, rejected order.Rejection) error {
	batcher := rejectionBatcherOf(o.db)
	_, err := batcher.Do(ctx, rejected)
	if core.CodeOf(err) == core.Unavailable { // no batch took it
		batcher.pending.add(rejected, 1)
	}
	return err
}

// StorePendingRejected stores the rejected orders that RecordRejected could not store.
func (o Store) StorePendingRejected(ctx context.Context) error {
	return rejectionBatcherOf(o.db).store(ctx, o.db, nil)
}

// rejectionBatcher batches rejected orders.
type rejectionBatcher struct {
	batch.Batcher[order.Rejection, struct{}]
	pending pendingRejections
}

func rejectionBatcherOf(db *postgres.DB) *rejectionBatcher {
	return postgres.StateOf(db, func(db *postgres.DB) *rejectionBatcher {
		b := &rejectionBatcher{}
		b.Run = func(ctx context.Context, list []order.Rejection) []batch.Result[struct{}] {
			return batch.FailAll[struct{}](len(list), b.store(ctx, db, list))
		}
		b.MaxConcurrent, b.MaxBatch, b.MaxWaiting = rejectedMaxConcurrent, rejectedMaxBatch, rejectedMaxWaiting
		return b
	})
}

// orderKey identifies an order.
type orderKey struct {
	business core.BusinessID
	platform string
	ref      string
}

// rejections are rejected orders in the order of their first rejection.
type rejections struct {
	index map[orderKey]int
	list  []rejectionCount
}

// rejectionCount is the last rejection of an order, and their number.
type rejectionCount struct {
	order.Rejection
	times int64
}

func rejectionKey(r order.Rejection) orderKey {
	return orderKey{r.Business, r.Platform, r.PlatformOrderID}
}

func (r *rejections) has(rejected order.Rejection) bool {
	_, known := r.index[rejectionKey(rejected)]
	return known
}

func (r *rejections) add(rejected order.Rejection, times int64) {
	if r.index == nil {
		r.index = map[orderKey]int{}
	}
	key := rejectionKey(rejected)
	if i, known := r.index[key]; known {
		r.list[i] = rejectionCount{rejected, r.list[i].times + times}
		return
	}
	r.index[key] = len(r.list)
	r.list = append(r.list, rejectionCount{rejected, times})
}

// pendingRejections are rejected orders that are not stored yet.
type pendingRejections struct {
	mu sync.Mutex
	rejections
}

// maxPendingRejections bounds pendingRejections. Beyond it, orders are counted without their ids and platforms.
const maxPendingRejections = 4 * maxRejectedOrders

func (p *pendingRejections) add(rejected order.Rejection, times int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) >= maxPendingRejections && !p.has(rejected) {
		rejected.Platform, rejected.PlatformOrderID, rejected.Store = "", "", ""
	}
	p.rejections.add(rejected, times)
}

// take returns the pending orders and forgets them.
func (p *pendingRejections) take() rejections {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.rejections
	p.rejections = rejections{}
	return taken
}

// store stores the pending rejected orders and further ones. If that fails, all of them are pending.
func (b *rejectionBatcher) store(ctx context.Context, db *postgres.DB, further []order.Rejection) error {
	all := b.pending.take()
	for _, r := range further {
		all.add(r, 1)
	}
	if len(all.list) == 0 {
		return nil
	}
	err := db.InTx(ctx, func(tx bun.Conn) error { return all.store(ctx, db, tx) })
	if err == nil {
		return nil
	}
	for _, r := range all.list {
		b.pending.add(r.Rejection, r.times)
	}
	return fmt.Errorf("storing %d rejected orders: %w", len(all.list), err)
}

// store stores rejected orders. A lock admits one hub at a time, because their rows overlap.
func (r *rejections) store(ctx context.Context, db *postgres.DB, tx bun.Conn) error {
	n := len(r.list)
	businesses, times, faults := make([]int64, n), make([]int64, n), make([]bool, n)
	platforms, refs, stores, reasons := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, one := range r.list {
		businesses[i], platforms[i], refs[i] = int64(one.Business), one.Platform, one.PlatformOrderID
		stores[i], reasons[i], faults[i], times[i] = one.Store, one.Reason, one.HubFault, one.times
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('rejected_orders'))`); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, queries.With("store_rejected", postgres.Args{
		"businesses": postgres.Array(businesses), "platforms": postgres.Array(platforms),
		"refs": postgres.Array(refs), "stores": postgres.Array(stores), "reasons": postgres.Array(reasons),
		"hub_faults": postgres.Array(faults), "rejections": postgres.Array(times), "now": db.Clock().Now(),
	})); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, queries.With("drop_rejected", postgres.Args{
		"businesses": postgres.Array(businesses), "most": maxRejectedOrders,
	}))
	return err
}
