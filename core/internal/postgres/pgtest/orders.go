package pgtest

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/order"
)

// PlaceBatch stores orders in one batch.
func PlaceBatch(ctx context.Context, i *intake.Intake, requests ...order.PlaceRequest) ([]order.PlaceResult, []error) {
	results, failures := make([]order.PlaceResult, len(requests)), make([]error, len(requests))
	for n, v := range i.PlaceBatch(ctx, requests) {
		results[n], failures[n] = v.Value, v.Err
	}
	return results, failures
}

// EventBodies returns the bodies of all events of a type, sorted by id.
func EventBodies(t testing.TB, db *postgres.DB, event core.EventType) (bodies [][]byte) {
	t.Helper()
	var stored [][]byte
	if err := db.Bun().NewRaw(`SELECT body FROM events WHERE event_type = ? ORDER BY id`,
		event).Scan(context.Background(), &stored); err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		body, err := db.Decompress(s)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// OrderCounts returns the numbers of orders, order states and queued deliveries.
func OrderCounts(t testing.TB, db *postgres.DB) (counts [3]int) {
	t.Helper()
	err := db.Bun().QueryRowContext(context.Background(),
		`SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM order_states),
		(SELECT count(*) FROM delivery_queue WHERE event_type IN ('order_placed', 'order_status_update'))`).
		Scan(&counts[0], &counts[1], &counts[2])
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
