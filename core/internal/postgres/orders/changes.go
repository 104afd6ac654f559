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

// Bounds of the batches of state changes.
const (
	changeMaxConcurrent = 2
	changeMinBatch      = 16
	changeMaxBatch      = 128
	changeMaxWaiting    = 8192
)

// changes batches changes of the states of orders, like Intake.
type changes struct {
	batcher batch.Batcher[ChangeRequest, order.State]
}

func changesOf(db *postgres.DB) *changes {
	return postgres.StateOf(db, func(db *postgres.DB) *changes {
		return &changes{batch.Batcher[ChangeRequest, order.State]{Run: New(db).ChangeBatch,
			MaxConcurrent: changeMaxConcurrent, MinBatch: changeMinBatch, MaxBatch: changeMaxBatch,
			MaxWaiting: changeMaxWaiting}}
	})
}

// Close waits until the accepted changes are stored.
func (c *changes) Close() { c.batcher.Close() }

// ChangeRequest is a request to move an order to another state.
type ChangeRequest struct {
	order.Change
	Business core.BusinessID
	OrderID  int64
	Trace    core.Trace
}

// Change moves an order to another state and publishes the event. Both are durable when it returns. It
// returns the previous state. A repeated state changes nothing, except Acknowledged with
// another preparation time. It returns the errors of order.State.Move, and NotFound.
//
// Concurrent calls share a transaction. Change returns Unavailable if too many wait.
func (o Store) Change(ctx context.Context, business core.BusinessID, id int64,
	change order.Change) (from order.State, err error) {
	return changesOf(o.db).batcher.Do(ctx, ChangeRequest{change, business, id, core.TraceFromContext(ctx)})
}

// WaitingChanges returns the number of state changes that wait in this replica.
func (o Store) WaitingChanges() int { return changesOf(o.db).batcher.Waiting() }

// CloseChanges rejects further state changes and waits until the accepted ones are stored.
func (o Store) CloseChanges() { changesOf(o.db).Close() }

// ChangeBatch changes the states of orders in one transaction, in the order of the requests. Each result is
// the previous state. If the database rejects the batch, it stores the changes one by one.
func (o Store) ChangeBatch(ctx context.Context, requests []ChangeRequest) []batch.Result[order.State] {
	return batch.SplitOnError(requests, func(requests []ChangeRequest) ([]batch.Result[order.State], error) {
		b := &changeBatch{ctx: ctx, db: o.db, requests: requests,
			results: make([]batch.Result[order.State], len(requests))}
		err := outbox.RunKeyed(ctx, o.db, func(tx bun.Conn, box *outbox.Outbox) error {
			b.tx = tx
			if err := b.read(); err != nil {
				return err
			}
			b.apply()
			if err := b.write(); err != nil {
				return err
			}
			if err := box.QueueCalls(ctx, tx, b.calls); err != nil {
				return err
			}
			return box.Publish(ctx, tx, b.events...)
		})
		if err != nil {
			return nil, fmt.Errorf("storing %d changes of orders: %w", len(requests), err)
		}
		return b.results, nil
	})
}
