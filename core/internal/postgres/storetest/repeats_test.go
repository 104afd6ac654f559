package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// inParallel calls do several times concurrently and returns the set of references.
func inParallel(t *testing.T, times int, do func() (core.ID, error)) map[core.ID]bool {
	t.Helper()
	references, failures := make([]core.ID, times), make([]error, times)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { references[i], failures[i] = do() })
	}
	all.Wait()
	distinct := map[core.ID]bool{}
	for i := range times {
		require.NoError(t, failures[i])
		distinct[references[i]] = true
	}
	return distinct
}

func TestRepeatedActionIsSentOnceWhilePending(t *testing.T) {
	d := newRiderHarness(t)
	id, other := d.order("b", ""), d.order("b", "")
	ask := func(order int64, name, phone string) (core.ID, error) {
		now := d.clock.Now()
		return orders.NewActions(d.db).Submit(context.Background(), action.Submission{
			Reference: core.NewID(now), Business: d.business, Platform: "b", Actor: "key:pos", At: now,
			Request: action.Request{Action: name, OrderID: order, Phone: phone},
		})
	}
	same := func() (core.ID, error) { return ask(id, action.AdditionalRider, "") }
	require.Len(t, inParallel(t, 24, same), 1)
	first, err := same()
	require.NoError(t, err)
	for _, different := range []func() (core.ID, error){
		func() (core.ID, error) { return ask(other, action.AdditionalRider, "") },
		func() (core.ID, error) { return ask(id, action.CustomerData, "") },
		func() (core.ID, error) { return ask(id, action.AdditionalRider, "9876543210") },
	} {
		reference, err := different()
		require.NoError(t, err)
		require.NotEqual(t, first, reference)
	}
	calls := d.claim(me)
	require.Len(t, calls, 4)
	for _, call := range calls {
		result := d.done(call)
		if call.ID == first {
			result.State = relay.Pending
		}
		d.finish(me, result)
	}
	again, err := same()
	require.NoError(t, err)
	require.Equal(t, first, again, "its outcome is pending")
	require.NoError(t, orders.NewActions(d.db).Settle(context.Background(), d.business, "b",
		relay.Outcome{State: relay.OutcomeDone, CallID: first}))
	fresh, err := same()
	require.NoError(t, err)
	require.NotEqual(t, first, fresh, "another rider, while the first call is pending")
}

func TestRepeatedOutOfStockReportIsSentOnce(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	curry := order.OutOfStockReport{OrderID: id, Actor: "key:pos", Items: []order.OutOfStockItem{{RefID: "curry"}}}
	report := func(s order.OutOfStockReport) core.ID {
		t.Helper()
		s.Items = append([]order.OutOfStockItem{}, s.Items...)
		_, reference, err := orders.New(d.db).Report(context.Background(), d.business, core.NewID(d.clock.Now()), s)
		require.NoError(t, err)
		return reference
	}
	first := inParallel(t, 24, func() (core.ID, error) { return report(curry), nil })
	require.Len(t, first, 1)
	editable := curry
	editable.AllowEdit = true
	d.clock.Advance(time.Millisecond)
	second := report(editable)
	require.NotContains(t, first, second, "it says something else")
	require.Contains(t, first, report(curry), "it waits still")

	finishCall := func(state relay.State) {
		t.Helper()
		calls := d.claim(me)
		require.Len(t, calls, 1)
		result := d.done(calls[0])
		result.State = state
		d.finish(me, result)
	}
	finishCall(relay.Done)
	finishCall(relay.Done)
	require.Equal(t, second, report(editable), "it was the last")
	d.clock.Advance(time.Millisecond)
	third := report(curry)
	require.NotContains(t, first, third, "it was not the last: the customer may have chosen fresh meanwhile")
	finishCall(relay.Failed)
	d.clock.Advance(time.Millisecond)
	require.NotEqual(t, third, report(curry), "a failed report may be repeated")
	require.Len(t, d.claim(me), 1)
}
