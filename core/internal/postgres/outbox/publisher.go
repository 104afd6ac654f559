package outbox

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
)

// Bounds of the batches of published events.
const (
	publishMaxConcurrent = 2
	publishMinBatch      = 32
	publishMaxBatch      = 128
	publishMaxWaiting    = 8192
)

// Publisher publishes events (webhook.Publisher). Concurrent calls share a transaction.
type Publisher struct {
	batcher *batch.Batcher[[]core.Event, struct{}]
}

// NewPublisher returns a Publisher that uses db.
func NewPublisher(db *postgres.DB) Publisher { return Publisher{&publishersOf(db).batcher} }

// Publish stores events with their deliveries, in one transaction. They are durable when it returns.
func (p Publisher) Publish(ctx context.Context, events ...core.Event) error {
	trace := core.TraceFromContext(ctx)
	for i := range events {
		if events[i].Trace == "" {
			events[i].Trace = trace
		}
	}
	_, err := p.batcher.Do(ctx, events)
	return err
}

// publishers holds the batcher of a replica.
type publishers struct {
	batcher batch.Batcher[[]core.Event, struct{}]
}

func publishersOf(db *postgres.DB) *publishers {
	return postgres.StateOf(db, func(db *postgres.DB) *publishers {
		return &publishers{batch.Batcher[[]core.Event, struct{}]{MaxConcurrent: publishMaxConcurrent,
			MinBatch: publishMinBatch, MaxBatch: publishMaxBatch, MaxWaiting: publishMaxWaiting,
			Run: func(ctx context.Context, requests [][]core.Event) []batch.Result[struct{}] {
				return publishAll(ctx, db, requests)
			}}}
	})
}

// Close waits until the accepted events are stored.
func (p *publishers) Close() { p.batcher.Close() }

// publishAll runs a batch.
func publishAll(ctx context.Context, db *postgres.DB, requests [][]core.Event) []batch.Result[struct{}] {
	return batch.SplitOnError(requests, func(requests [][]core.Event) ([]batch.Result[struct{}], error) {
		var events []core.Event
		ordered := false
		for _, request := range requests {
			events = append(events, request...)
			for _, event := range request {
				ordered = ordered || event.OrderID != 0
			}
		}
		results := make([]batch.Result[struct{}], len(requests))
		if ordered || len(events) > maxStatementEvents {
			return results, RunKeyed(ctx, db, func(tx bun.Conn, box *Outbox) error {
				return box.Publish(ctx, tx, events...)
			})
		}
		return results, RunStatement(db, func(box *Outbox) error { return box.publish(ctx, nil, events) })
	})
}
