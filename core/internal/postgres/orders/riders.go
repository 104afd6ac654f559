package orders

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

// Riders batches statuses and locations of riders, like Intake.
type Riders struct {
	db        *postgres.DB
	statuses  batch.Batcher[order.RiderUpdate, bool]
	locations batch.Batcher[order.RiderLocation, struct{}]
}

// Bounds of the batches of statuses and of locations.
const (
	riderMaxConcurrent = 2
	riderMinBatch      = 16
	statusMaxBatch     = 128
	locationMaxBatch   = 512
	riderMaxWaiting    = 8192
)

// NewRiders returns Riders; the caller must Close them.
func NewRiders(db *postgres.DB) *Riders {
	r := &Riders{db: db}
	r.statuses = batch.Batcher[order.RiderUpdate, bool]{Run: r.UpdateBatch, MaxConcurrent: riderMaxConcurrent,
		MinBatch: riderMinBatch, MaxBatch: statusMaxBatch, MaxWaiting: riderMaxWaiting}
	r.locations = batch.Batcher[order.RiderLocation, struct{}]{Run: r.LocateBatch, MaxConcurrent: riderMaxConcurrent,
		MinBatch: riderMinBatch, MaxBatch: locationMaxBatch, MaxWaiting: riderMaxWaiting}
	return r
}

// Close rejects further updates and waits until the accepted ones are stored.
func (r *Riders) Close() {
	r.statuses.Close()
	r.locations.Close()
}

// Waiting returns the numbers of statuses and locations that wait in this replica.
func (r *Riders) Waiting() (statuses, places int) { return r.statuses.Waiting(), r.locations.Waiting() }

// Update stores a status with its event and, if a plugin serves the platform, its call. All are
// durable when Update returns. It reports whether the status changed anything. It returns NotFound
// for an unknown order, and the errors of order.Tracking.AddStatus.
func (r *Riders) Update(ctx context.Context, update order.RiderUpdate) (bool, error) {
	update.Trace = core.TraceFromContext(ctx)
	return r.statuses.Do(ctx, update)
}

// UpdateLocation stores a rider's location, and queues it if a plugin serves the platform. It returns
// NotFound for an unknown order, and Invalid if the order is not self-delivered.
func (r *Riders) UpdateLocation(ctx context.Context, location order.RiderLocation) error {
	_, err := r.locations.Do(ctx, location)
	return err
}

// UpdateBatch stores statuses of riders in one transaction.
func (r *Riders) UpdateBatch(ctx context.Context, updates []order.RiderUpdate) []batch.Result[bool] {
	return batch.SplitOnError(updates, func(updates []order.RiderUpdate) ([]batch.Result[bool], error) {
		var results []batch.Result[bool]
		err := outbox.RunKeyed(ctx, r.db, func(tx bun.Conn, box *outbox.Outbox) (err error) {
			results, err = r.updateIn(ctx, tx, box, updates)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("storing %d statuses of riders: %w", len(updates), err)
		}
		return results, nil
	})
}

// UpdateIn is Update in a transaction of outbox.RunKeyed, which makes it durable.
func (r *Riders) UpdateIn(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	update order.RiderUpdate) (bool, error) {
	update.Trace = core.TraceFromContext(ctx)
	results, err := r.updateIn(ctx, tx, box, []order.RiderUpdate{update})
	if err != nil {
		return false, fmt.Errorf("storing a status of a rider: %w", err)
	}
	return results[0].Value, results[0].Err
}

// updateIn stores statuses of riders in a transaction.
func (r *Riders) updateIn(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	updates []order.RiderUpdate) ([]batch.Result[bool], error) {
	b := &riderBatch{ctx: ctx, tx: tx, db: r.db, updates: updates, results: make([]batch.Result[bool], len(updates))}
	if err := b.read(); err != nil {
		return nil, err
	}
	if err := b.apply(); err != nil {
		return nil, err
	}
	if err := b.write(); err != nil {
		return nil, err
	}
	if err := box.QueueCalls(ctx, tx, b.calls); err != nil {
		return nil, err
	}
	return b.results, box.Publish(ctx, tx, b.events...)
}
