package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

// reject rejects an order of the platform b.
func (d *riderHarness) reject(id string) {
	d.t.Helper()
	require.NoError(d.t, d.calls.Reject(d.t.Context(), relay.Caller{Business: d.business, Platform: "b"},
		relay.OrderAcknowledgePayload{PlatformOrderID: id, Reason: "no store"}))
}

func TestStoredOrderIsNotRejected(t *testing.T) {
	d := newRiderHarness(t)
	d.order("b", "")
	d.order("web", "")
	d.reject("R-1")
	require.Empty(t, d.claim(me))
	d.reject("R-2") // an order of another platform has this id
	d.reject("R-2")
	calls := d.claim(me)
	require.Len(t, calls, 1, "a rejection waits only once")
	require.Equal(t, []any{d.business, "refusal:b/R-2"}, []any{calls[0].Business, calls[0].OrderingKey})
}

func TestRejectionOfAcceptedOrderIsSkipped(t *testing.T) {
	d := newRiderHarness(t)
	d.reject("R-1")
	d.reject("R-2")
	receipts, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, d.db), d.arrival("R-1", "b", oneCurry, ""))
	require.NoError(t, failures[0])
	var keys []string
	for _, call := range d.claim(me) {
		keys = append(keys, call.OrderingKey)
	}
	require.ElementsMatch(t, []string{relay.OrderKey(receipts[0].OrderID), "refusal:b/R-2"}, keys)
	var ended string
	pgtest.Row(t, d.db, &ended, `SELECT state || ': ' || message FROM calls WHERE ordering_key = 'refusal:b/R-1'`)
	require.Equal(t, "skipped: the order was accepted when it was resent", ended)
	var queued int
	pgtest.Row(t, d.db, &queued, `SELECT count(*) FROM call_queue WHERE ordering_key = 'refusal:b/R-1'`)
	require.Zero(t, queued)
}

func TestClaimOfOnlySkippedCallsGoesOn(t *testing.T) {
	d := newRiderHarness(t)
	d.reject("R-1")
	_, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, d.db), d.arrival("R-1", "b", oneCurry, ""))
	require.NoError(t, failures[0])
	until := d.clock.Now().Add(time.Minute).Truncate(time.Microsecond)
	batch, err := callsOf(d.db).Claim(t.Context(), me, queue.Capacity{Items: 9, OtherKeys: 1}, until)
	require.NoError(t, err)
	require.Empty(t, batch.Items)
	require.True(t, batch.More, "the call of the order is next")
}
