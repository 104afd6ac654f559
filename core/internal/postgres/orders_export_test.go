package postgres

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// PlaceTogether stores, for tests, orders by one round.
func (i *Intake) PlaceTogether(ctx context.Context, arrivals ...order.Arrival) ([]order.Receipt, []error) {
	receipts, failures := make([]order.Receipt, len(arrivals)), make([]error, len(arrivals))
	for n, v := range i.store(ctx, arrivals) {
		receipts[n], failures[n] = v.answer, v.err
	}
	return receipts, failures
}

// EventBodies reads, for tests, the bodies of all events of a type in the order of their ids.
func (db *DB) EventBodies(t testing.TB, event core.EventType) (bodies [][]byte) {
	t.Helper()
	var stored [][]byte
	if err := db.bun.NewRaw(`SELECT body FROM events WHERE event_type = ? ORDER BY id`, event).Scan(context.Background(), &stored); err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		body, err := db.packer.unpack(s)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// OrderCounts reads, for tests, how many orders, states of orders and queued deliveries there are.
func (db *DB) OrderCounts(t testing.TB) (counts [3]int) {
	t.Helper()
	err := db.bun.QueryRowContext(context.Background(), `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM order_states),
		(SELECT count(*) FROM delivery_queue WHERE event_type IN ('order_placed', 'order_status_update'))`).Scan(&counts[0], &counts[1], &counts[2])
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
