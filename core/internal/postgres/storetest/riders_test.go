package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

func TestRiderStatusesAreStoredAndSentInOrder(t *testing.T) {
	d := newRiderHarness(t)
	id, asha := d.order("b", ""), order.Rider{Name: "Asha", Phone: "5550100"}
	require.NoError(t, d.send(id, order.Assigned, asha))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	require.Equal(t, core.Invalid, core.CodeOf(d.send(id, order.Assigned, order.Rider{Phone: "5550199"})))
	require.NoError(t, d.send(id, order.Delivered, asha))
	require.Equal(t, core.Conflict, core.CodeOf(d.send(id, order.AtStore, asha)))

	events := pgtest.EventBodies(t, d.db, core.RiderStatusUpdate)
	require.Len(t, events, 3, "a repeat and rejections publish nothing")
	for _, body := range events {
		eventtest.Check(t, core.RiderStatusUpdate, body)
	}
	for _, status := range []string{"ASSIGNED", "AT-STORE", "DELIVERED"} {
		calls := d.claim(me)
		require.Len(t, calls, 1, "one at a time")
		require.Contains(t, string(calls[0].Payload),
			fmt.Sprintf(`"status":%q,"name":"Asha","phone":"5550100"`, status))
		require.Equal(t, relay.Order{ID: id, PlatformOrderID: "R-1", StoreRefID: "s1", Kind: "delivery",
			DeliveryMode: "self", Lines: []relay.OrderLine{{RefID: "curry", Quantity: 1}}}, calls[0].Order)
		require.Equal(t, "aggregator-b", calls[0].Plugin)
		require.Empty(t, d.claim(other), "the next call waits for this one")
		d.finish(me, d.done(calls[0]))
	}
	require.Empty(t, d.claim(me))
	record, err := orders.New(d.db).Get(context.Background(), d.business, "", id)
	require.NoError(t, err)
	require.Len(t, record.RiderHistory, 3)
	require.Equal(t, &order.RiderRelay{State: "done"}, record.RiderHistory[2].Relay)
}

func TestFailingRiderStatusBlocksTheNext(t *testing.T) {
	d := newRiderHarness(t)
	id, elsewhere := d.order("b", ""), d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{}))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	first := d.claim(me)
	d.finish(me, d.retried(first[0], time.Second))
	require.NoError(t, d.send(elsewhere, order.Assigned, order.Rider{}))
	free := d.claim(me)
	require.Len(t, free, 1)
	require.Equal(t, elsewhere, free[0].Order.ID, "the other order is not blocked")
	d.clock.Advance(time.Second)
	second := d.claim(me)
	require.Len(t, second, 1)
	require.Equal(t, []any{first[0].ID, 1, first[0].Payload},
		[]any{second[0].ID, second[0].Attempts, second[0].Payload})
	given := d.retried(second[0], 0)
	given.State = relay.Failed
	d.finish(me, given)
	third := d.claim(me)
	require.Len(t, third, 1)
	require.Contains(t, string(third[0].Payload), "AT-STORE", "what was given up lets the next go")
	require.Zero(t, third[0].Attempts)
}

func TestCallOfADeadReplicaIsTakenOver(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{}))
	lost := d.claim(me)
	require.Len(t, lost, 1)
	d.clock.Advance(21 * time.Second)
	taken := d.claim(other)
	require.Len(t, taken, 1)
	require.Equal(t, lost[0].ID, taken[0].ID)
	d.finish(me, d.retried(lost[0], 0)) // the first replica is alive after all
	require.Empty(t, d.claim(me), "the line is the other's now")
	d.finish(other, d.done(taken[0]))
	d.finish(me, d.retried(lost[0], 0))
	require.Empty(t, d.claim(me))
}

func TestUnstartedCallsAreReleased(t *testing.T) {
	d := newRiderHarness(t)
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{}))
	calls := d.claim(me)
	require.NoError(t, d.calls.Release(context.Background(), me, calls))
	require.Equal(t, payloads(calls), payloads(d.claim(other)))
}

func TestOnlyTheNewestRiderLocationIsSent(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	for _, latitude := range []string{"1", "2", "3"} {
		require.NoError(t, d.place(id, latitude))
	}
	calls := d.claim(me)
	require.Len(t, calls, 1)
	require.Contains(t, string(calls[0].Payload), `"latitude":"3"`)
	require.NoError(t, d.place(id, "4"))
	require.Empty(t, d.claim(other), "one at a time")
	d.finish(me, d.done(calls[0]))
	require.Empty(t, d.claim(me), "locations of an order are rate limited")
	d.clock.Advance(relay.LocationInterval)
	next := d.claim(me)
	require.Len(t, next, 1, "the newest location is sent")
	require.Contains(t, string(next[0].Payload), `"latitude":"4"`)
	d.finish(me, d.done(next[0]))
	require.NoError(t, d.place(id, "5"))
	require.Empty(t, d.claim(me), "nor is the next one when nothing waited")
	d.clock.Advance(relay.LocationInterval)
	last := d.claim(me)
	require.Len(t, last, 1)
	d.finish(me, d.done(last[0]))
	d.clock.Advance(relay.LocationInterval)
	require.Empty(t, d.claim(me), "dropped once it is delivered")

	late := order.RiderLocation{Business: d.business, OrderID: id, Latitude: "0", Longitude: "2",
		SeenAt: d.clock.Now().Add(-time.Minute)}
	require.NoError(t, d.riders.UpdateLocation(context.Background(), late))
	require.Empty(t, d.claim(me), "an older location is never sent after a newer one")

	d.clock.Advance(2 * time.Hour)
	require.NoError(t, d.riders.Sweep(context.Background()))
	require.NoError(t, d.place(id, "6"))
	require.Len(t, d.claim(me), 1)
}

func TestRiderLocationIsNotSentForEndedOrders(t *testing.T) {
	d := newRiderHarness(t)
	delivered, again, cancelled, completed, open := d.order("b", ""), d.order("b", ""), d.order("b", ""),
		d.order("b", ""), d.order("b", "")
	for _, status := range []order.RiderStatus{order.Assigned, order.AtStore, order.Delivered} {
		require.NoError(t, d.send(delivered, status, order.Rider{}))
	}
	for _, status := range []order.RiderStatus{order.Assigned, order.Unassigned} {
		require.NoError(t, d.send(again, status, order.Rider{}))
	}
	for id, state := range map[int64]order.State{cancelled: order.Cancelled, completed: order.Completed} {
		_, err := orders.New(d.db).Change(context.Background(), d.business, id,
			order.Change{To: state, Actor: "key:pos"})
		require.NoError(t, err)
	}
	pgtest.Exec(t, d.db, `WITH deleted AS (DELETE FROM calls) DELETE FROM call_queue`)
	for _, id := range []int64{delivered, again, cancelled, completed, open} {
		require.NoError(t, d.place(id, "1"), "the sender gets no error")
	}
	claimed := d.claim(me)
	require.Len(t, claimed, 2)
	require.ElementsMatch(t, []int64{again, open}, []int64{claimed[0].Order.ID, claimed[1].Order.ID})
	require.Equal(t, core.Conflict, core.CodeOf(d.send(cancelled, order.Assigned, order.Rider{})))
}

func TestOrderEndDropsPendingRiderLocations(t *testing.T) {
	d := newRiderHarness(t)
	delivered, completed, open := d.order("b", ""), d.order("b", ""), d.order("b", "")
	for _, id := range []int64{delivered, completed, open} {
		require.NoError(t, d.place(id, "1"))
	}
	var failed []relay.Result
	for _, c := range d.claim(me) {
		failed = append(failed, d.retried(c, time.Second))
	}
	require.Len(t, failed, 3)
	d.finish(me, failed...)
	require.NoError(t, d.place(delivered, "2"))
	require.NoError(t, d.send(delivered, order.Delivered, order.Rider{}))
	_, err := orders.New(d.db).Change(context.Background(), d.business, completed,
		order.Change{To: order.Completed, Actor: "key:pos"})
	require.NoError(t, err)
	pgtest.Exec(t, d.db, `DELETE FROM call_queue WHERE kind <> 'rider_location'`)
	d.clock.Advance(time.Second)
	claimed := d.claim(me)
	require.Len(t, claimed, 1)
	require.Equal(t, open, claimed[0].Order.ID)
	d.clock.Advance(time.Hour)
	require.Len(t, d.claim(other), 1, "those are done with; the lease of the third is over")
	place, err := consolelists.New(d.db).RiderLocation(t.Context(), d.business, delivered)
	require.NoError(t, err)
	require.Equal(t, []string{"skipped", "the order or its delivery has ended"},
		[]string{place.State, place.Message})
}

func TestNewerRiderLocationKeepsTheRetrySchedule(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.place(id, "1"))
	calls := d.claim(me)
	d.finish(me, d.retried(calls[0], 8*time.Second))
	require.NoError(t, d.place(id, "2"))
	require.Empty(t, d.claim(me), "a newer location does not advance the retry")
	d.clock.Advance(8 * time.Second)
	next := d.claim(me)
	require.Contains(t, string(next[0].Payload), `"latitude":"2"`)
	require.Equal(t, 1, next[0].Attempts)
	given := d.retried(next[0], 0)
	given.State = relay.Failed
	d.finish(me, given)
	require.Empty(t, d.claim(me), "no retry until there is a newer location")
	require.NoError(t, d.place(id, "3"))
	d.clock.Advance(relay.LocationInterval)
	require.Len(t, d.claim(me), 1)
}

func TestLastRiderLocationResultIsShownUntilReplaced(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	console := consolelists.New(d.db)
	known := func(state relay.State, message string) {
		t.Helper()
		place, err := console.RiderLocation(t.Context(), d.business, id)
		require.NoError(t, err)
		require.Equal(t, []string{string(state), message}, []string{place.State, place.Message})
		calls, err := console.CallsOfOrder(t.Context(), d.business, id)
		require.NoError(t, err)
		if message == "" {
			require.Empty(t, calls, "a sent location leaves no record")
			return
		}
		require.Equal(t, []string{string(relay.RiderLocation), string(state), message},
			[]string{calls[0].Kind, calls[0].State, calls[0].Message})
	}
	finishLocation := func(latitude string, state relay.State, message string) {
		t.Helper()
		require.NoError(t, d.place(id, latitude))
		d.clock.Advance(relay.LocationInterval)
		result := d.retried(d.claim(me)[0], 0)
		result.State, result.Message = state, message
		d.finish(me, result)
	}
	finishLocation("1", relay.Failed, "status 401")
	known(relay.Failed, "status 401")
	require.NoError(t, d.place(id, "2"))
	known(relay.Waiting, "status 401")
	finishLocation("3", relay.Skipped, "locations are not supported")
	known(relay.Skipped, "locations are not supported")
	finishLocation("4", relay.Done, "thank you")
	known(relay.Done, "")
}

func TestInvalidRiderUpdateFailsAloneInItsBatch(t *testing.T) {
	d := newRiderHarness(t)
	assigned, partner, own := d.order("b", ""), d.order("b", `,"delivery_type":"partner"`), d.order("web", "")
	foreign := newMenuHarness(t, d.db, "IN")
	updates := []order.RiderUpdate{
		d.update(assigned, order.Assigned, order.Rider{}), d.update(partner, order.Assigned, order.Rider{}),
		d.update(99, order.Assigned, order.Rider{}),
		{Business: foreign.business, OrderID: assigned, Status: order.Assigned},
		d.update(own, order.Assigned, order.Rider{}), d.update(assigned, order.AtStore, order.Rider{}),
	}
	require.Equal(t, []core.Code{"", core.Invalid, core.NotFound, core.NotFound, "", ""},
		pgtest.UpdateBatch(d.riders, updates...))
	require.Len(t, pgtest.EventBodies(t, d.db, core.RiderStatusUpdate), 3)
	calls := d.claim(me)
	require.Len(t, calls, 1, "an order of an own channel causes no call")

	var locations []order.RiderLocation
	for _, u := range updates {
		locations = append(locations, order.RiderLocation{Business: u.Business, OrderID: u.OrderID, Latitude: "1",
			Longitude: "1", SeenAt: d.clock.Now()})
	}
	require.Equal(t, []core.Code{"", core.Invalid, core.NotFound, core.NotFound, "", ""},
		pgtest.LocateBatch(d.riders, locations...))
	require.Len(t, d.claim(me), 1)
}

func TestRiderStatusIsAtomicDespiteACrash(t *testing.T) {
	d := newRiderHarness(t)
	hubtest.Subscribe(t, d.db, d.business, core.RiderStatusUpdate, "https://pos.example.com/")
	for n := 1; ; n++ {
		id := d.order("b", "")
		before := pgtest.RiderCounts(t, d.db)
		broken := pgtest.BreakAt(d.db, n)
		codes := pgtest.UpdateBatch(d.riders, d.update(id, order.Assigned, order.Rider{}),
			d.update(id, order.AtStore, order.Rider{}))
		if !broken() {
			require.Equal(t, []core.Code{"", ""}, codes)
			require.Greater(t, n, 9, "every statement is interrupted once")
			return
		}
		want := before
		for i := range want {
			want[i] += 2
		}
		if after := pgtest.RiderCounts(t, d.db); after != want {
			require.Equal(t, before, after, "statement %d", n)
			require.NotEqual(t, core.Code(""), codes[0], "statement %d", n)
			pgtest.UpdateBatch(d.riders, d.update(id, order.Assigned, order.Rider{}),
				d.update(id, order.AtStore, order.Rider{}))
		}
		require.Equal(t, want, pgtest.RiderCounts(t, d.db), "statement %d", n)
	}
}

func TestRepeatedCallResultsAreRecordedOnce(t *testing.T) {
	d := newRiderHarness(t)
	one, two := d.order("b", ""), d.order("b", "")
	for _, id := range []int64{one, two} {
		require.NoError(t, d.send(id, order.Assigned, order.Rider{}))
		require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	}
	calls := d.claim(me)
	require.Len(t, calls, 2)
	results := []relay.Result{d.done(calls[0]), d.retried(calls[1], 0)}
	for n := range 2 { // the response to the first COMMIT was lost
		d.finish(me, results...)
		require.Equal(t, 2, pgtest.CallAttempts(t, d.db))
		require.Len(t, d.claim(me), 2*(1-n), "the next attempts are claimed once")
	}
	d.clock.Advance(time.Minute)
	late := d.done(calls[1]) // by a replica that was paused meanwhile
	d.finish(other, results[0], late)
	require.Equal(t, 3, pgtest.CallAttempts(t, d.db))
}

func TestCrashWhileRecordingLosesNoCall(t *testing.T) {
	d := newRiderHarness(t)
	for n := 1; ; n++ {
		id := d.order("b", "")
		require.NoError(t, d.send(id, order.Assigned, order.Rider{}))
		require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
		calls := d.claim(me)
		require.Len(t, calls, 1)
		broken := pgtest.BreakAt(d.db, n)
		err := d.calls.Finish(context.Background(), me, []relay.Result{d.done(calls[0])})
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 4, "every statement is interrupted once")
			return
		}
		d.finish(me, d.done(calls[0])) // the engine retries
		next := d.claim(me)
		require.Len(t, next, 1, "statement %d", n)
		require.Contains(t, string(next[0].Payload), "AT-STORE")
		d.finish(me, d.done(next[0]))
		require.Empty(t, d.claim(me))
	}
}

func TestRidersAndCallsAreDeletedWithTheirOrder(t *testing.T) {
	d := newRiderHarness(t)
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{}))
	d.clock.Advance(49 * time.Hour)
	require.NoError(t, orders.New(d.db).DropOld(context.Background(), 48*time.Hour))
	require.Empty(t, d.claim(me), "calls of a deleted order are skipped")
	counts := pgtest.RiderCounts(t, d.db)
	require.Equal(t, []int{0, 0}, counts[:2])
}
