package postgres

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

func codesOf[A any](verdicts []verdict[A]) []core.Code {
	codes := make([]core.Code, len(verdicts))
	for i, v := range verdicts {
		codes[i] = core.CodeOf(v.err)
	}
	return codes
}

// UpdateTogether stores, for tests, statuses by one round.
func (r *Riders) UpdateTogether(updates ...order.RiderUpdate) []core.Code {
	return codesOf(r.takeStatuses(context.Background(), updates))
}

// LocateTogether stores, for tests, places by one round.
func (r *Riders) LocateTogether(places ...order.RiderLocation) []core.Code {
	return codesOf(r.takePlaces(context.Background(), places))
}

// RiderCounts reads, for tests, how many statuses of riders, calls and deliveries of rider events there are.
func (db *DB) RiderCounts(t testing.TB) (counts [3]int) {
	t.Helper()
	err := db.bun.QueryRowContext(context.Background(), `SELECT (SELECT count(*) FROM rider_statuses), (SELECT count(*) FROM calls),
		(SELECT count(*) FROM delivery_queue WHERE event_type = 'rider_status_update')`).Scan(&counts[0], &counts[1], &counts[2])
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// CallAttempts reads, for tests, how many attempts at calls to aggregators are on record.
func (db *DB) CallAttempts(t testing.TB) (n int) {
	t.Helper()
	if err := db.bun.QueryRowContext(context.Background(), `SELECT count(*) FROM call_attempts`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
