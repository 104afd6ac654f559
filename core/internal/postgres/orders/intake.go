package orders

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
)

// Intake batches orders: those that arrive during a transaction are stored together by the
// next one.
type Intake struct {
	db      *postgres.DB
	cache   menuCache
	ids     orderIDs
	batcher postgres.Batcher[order.PlaceRequest, order.PlaceResult]
}

// Bounds of the intake: concurrent transactions, orders per transaction, waiting orders. A second
// concurrent transaction is worth its cost only for many waiting orders.
const (
	intakeMaxConcurrent = 2
	intakeMinBatch      = 32
	intakeMaxBatch      = 128
	intakeMaxWaiting    = 8192
)

// NewIntake returns an Intake; the caller must Close it.
func NewIntake(db *postgres.DB) *Intake {
	i := &Intake{db: db}
	i.batcher = postgres.Batcher[order.PlaceRequest, order.PlaceResult]{Run: i.PlaceBatch,
		MaxConcurrent: intakeMaxConcurrent,
		MinBatch:      intakeMinBatch, MaxBatch: intakeMaxBatch, MaxWaiting: intakeMaxWaiting}
	return i
}

// Close rejects further orders and waits until the accepted ones are stored.
func (i *Intake) Close() { i.batcher.Close() }

// Waiting returns the number of orders that wait in this replica.
func (i *Intake) Waiting() int { return i.batcher.Waiting() }

// Place stores an order with its event; both are durable when it returns. A repeated
// platform_order_id returns the known order's id and publishes no second event.
//
// It returns NotFound for an unknown platform or store, and Invalid for an unknown price. It
// returns Unavailable if nothing was stored.
func (i *Intake) Place(ctx context.Context, arrival order.PlaceRequest) (order.PlaceResult, error) {
	arrival.Trace = core.TraceFromContext(ctx)
	return i.batcher.Do(ctx, arrival)
}

// PlaceBatch stores a batch of orders. If the database rejects the batch, it stores the orders
// one by one, so that no order fails because of another.
func (i *Intake) PlaceBatch(ctx context.Context, arrivals []order.PlaceRequest) []postgres.Result[order.PlaceResult] {
	return postgres.SplitOnError(arrivals, func(arrivals []order.PlaceRequest) ([]postgres.Result[order.PlaceResult],
		error) {
		return i.commit(ctx, arrivals)
	})
}

func (i *Intake) commit(ctx context.Context,
	arrivals []order.PlaceRequest) ([]postgres.Result[order.PlaceResult], error) {
	b := &intakeBatch{ctx: ctx, db: i.db, cache: &i.cache, ids: &i.ids, arrivals: arrivals,
		results: make([]postgres.Result[order.PlaceResult], len(arrivals))}
	err := outbox.Run(ctx, i.db, func(tx bun.Conn, box *outbox.Outbox) error {
		b.tx = tx
		if err := b.read(); err != nil {
			return err
		}
		if err := b.place(); err != nil {
			return err
		}
		receivers, err := outbox.Targets(ctx, i.db, tx, b.events())
		if err != nil {
			return err
		}
		if err := b.insert(receivers); err != nil {
			return err
		}
		if err := b.setResults(); err != nil {
			return err
		}
		if err := box.QueueCalls(ctx, tx, b.acknowledgements()); err != nil {
			return err
		}
		return box.PublishTo(ctx, tx, receivers, b.events())
	})
	if err != nil {
		return nil, fmt.Errorf("storing %d orders: %w", len(arrivals), err)
	}
	b.applyCancellations()
	return b.results, nil
}
