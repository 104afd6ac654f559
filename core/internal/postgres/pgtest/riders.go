package pgtest

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/batch"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/order"
)

func codesOf[A any](results []batch.Result[A]) []core.Code {
	codes := make([]core.Code, len(results))
	for i, v := range results {
		codes[i] = core.CodeOf(v.Err)
	}
	return codes
}

// UpdateBatch stores statuses in one batch.
func UpdateBatch(r *orders.Riders, updates ...order.RiderUpdate) []core.Code {
	return codesOf(r.UpdateBatch(context.Background(), updates))
}

// LocateBatch stores locations in one batch.
func LocateBatch(r *orders.Riders, locations ...order.RiderLocation) []core.Code {
	return codesOf(r.LocateBatch(context.Background(), locations))
}

// RiderCounts returns the numbers of rider statuses, calls and queued rider deliveries.
func RiderCounts(t testing.TB, db *postgres.DB) (counts [3]int) {
	t.Helper()
	err := db.Bun().QueryRowContext(context.Background(),
		`SELECT (SELECT count(*) FROM rider_statuses), (SELECT count(*) FROM calls),
		(SELECT count(*) FROM delivery_queue WHERE event_type = 'rider_status_update')`).Scan(&counts[0], &counts[1],
		&counts[2])
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// CallAttempts returns the number of recorded attempts at calls to aggregators.
func CallAttempts(t testing.TB, db *postgres.DB) (n int) {
	t.Helper()
	if err := db.Bun().QueryRowContext(context.Background(),
		`SELECT count(*) FROM call_attempts`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
