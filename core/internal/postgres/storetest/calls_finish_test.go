package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/messages"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

func TestResultOfEarlierLeaseEndsNoLaterOne(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	first := d.claim(me)
	require.Len(t, first, 1)
	d.clock.Advance(21 * time.Second) // recording is late
	again := d.claim(me)
	require.Equal(t, first[0].ID, again[0].ID)
	late := d.done(first[0])
	late.Attempt.StartedAt = late.Attempt.StartedAt.Add(-20 * time.Second)
	d.finish(me, late)
	require.Empty(t, d.claim(other), "the call is being sent a second time, so the next one waits")
	require.NoError(t, d.calls.Release(t.Context(), me, first))
	require.Empty(t, d.claim(other), "a release of the earlier lease")
	d.finish(me, d.done(again[0]))
	next := d.claim(other)
	require.Len(t, next, 1)
	require.NotEqual(t, first[0].ID, next[0].ID)
}

func TestRepeatedResultEndsNoNewLease(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	first := d.claim(me)
	require.Len(t, first, 1)
	unsent := relay.Result{Call: first[0], State: relay.Skipped, Message: "nothing is pending anymore",
		FinishedAt: d.clock.Now()}
	d.finish(me, unsent) // the queue has no row of the order any more
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	require.Len(t, d.claim(me), 1)
	d.finish(me, unsent) // the response to the first COMMIT was lost
	require.Empty(t, d.claim(other), "the next call is under way")
}

func TestFailedClaimOfCallsReturnsItsLeases(t *testing.T) {
	d := newRiderHarness(t)
	for n := 1; ; n++ {
		require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
		broken := pgtest.BreakAt(d.db, n)
		batch, err := d.calls.Claim(t.Context(), me, queue.Capacity{Items: 9, OtherKeys: 9},
			d.clock.Now().Add(20*time.Second))
		if !broken() {
			require.Greater(t, n, 3)
			return
		}
		if err == nil { // only the next due time is missing
			require.Len(t, batch.Items, 1)
		}
		require.NoError(t, d.calls.Release(t.Context(), me, batch.Items))
		claimed := d.claim(other)
		require.Len(t, claimed, 1, "statement %d", n)
		d.finish(other, d.done(claimed[0]))
	}
}

func TestUnrecordableResultFailsOnlyItsCall(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	business := hubtest.Business(t, db).ID
	store, list := messages.New(db), calls.New(db, messages.Ended)
	for _, id := range []string{"L-1", "L-2\x00", "L-3"} {
		require.NoError(t, store.Add(t.Context(), relay.InboundRequest{Kind: "events", ReceivedAt: clock.Now(),
			Caller: relay.Caller{Business: business, Platform: "linked"}}, id))
	}
	var escaped int
	pgtest.Row(t, db, &escaped, `SELECT count(*) FROM calls WHERE strpos(payload, '\u0000') > 0`)
	require.Zero(t, escaped)
	pgtest.Exec(t, db, `UPDATE calls SET payload = '{"platform_order_id":"L-1\u0000"}'
		WHERE business_id = ?0 AND strpos(payload, 'L-1') > 0`, business)
	batch, err := list.Claim(t.Context(), me, queue.Capacity{Items: 9, OtherKeys: 9}, clock.Now().Add(20*time.Second))
	require.NoError(t, err)
	require.Len(t, batch.Items, 3)
	results := make([]relay.Result, len(batch.Items))
	for i, call := range batch.Items {
		results[i] = relay.Result{Call: call, State: relay.Done, FinishedAt: clock.Now(),
			Attempt: &relay.Attempt{StartedAt: clock.Now(), Status: 200}}
	}
	require.NoError(t, list.Finish(t.Context(), me, results))
	var done, failed, queued int
	pgtest.Row(t, db, &done, `SELECT count(*) FROM calls WHERE state = 'done'`)
	pgtest.Row(t, db, &failed,
		`SELECT count(*) FROM calls WHERE state = 'failed' AND message = 'the result could not be recorded'`)
	pgtest.Row(t, db, &queued, `SELECT count(*) FROM call_queue`)
	require.Equal(t, []int{2, 1, 0}, []int{done, failed, queued})
}

func TestUnreadableOrderFailsOnlyItsCall(t *testing.T) {
	d := newRiderHarness(t)
	broken, good := d.order("b", ""), d.order("b", "")
	for _, id := range []int64{broken, good} {
		require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	}
	pgtest.Exec(t, d.db, `UPDATE events SET body = '\x00ff' WHERE id = (SELECT placed_event FROM orders
		WHERE business_id = ?0 AND id = ?1)`, d.business, broken)
	claimed := d.claim(me)
	require.Len(t, claimed, 1)
	require.Equal(t, good, claimed[0].Order.ID)
	var message string
	pgtest.Row(t, d.db, &message, `SELECT message FROM calls WHERE business_id = ?0 AND order_id = ?1`, d.business,
		broken)
	require.Equal(t, "the stored order cannot be read", message)
}

func TestHeldManualDeliveryStopsNoClaims(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(1)
	pgtest.Exec(t, c.db, `UPDATE delivery_queue SET manual = true, available_at = 'infinity'
		WHERE business_id = ?0`, c.business)
	_, items, next := c.claim()
	require.Empty(t, items)
	require.Zero(t, next)
}
