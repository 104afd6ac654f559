package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/eventtest"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// submit queues an action of an order.
func (d *riderHarness) submit(id int64, name string) core.ID {
	d.t.Helper()
	d.clock.Advance(time.Millisecond)
	s := action.Submission{Reference: core.NewID(d.clock.Now()), Business: d.business, Platform: "b", Actor: "key:pos",
		At: d.clock.Now(), Request: action.Request{Action: name, OrderID: id}}
	reference, err := ordersdb.NewActions(d.db).Submit(context.Background(), s)
	require.NoError(d.t, err)
	return reference
}

func (d *riderHarness) action(reference core.ID) action.Record {
	d.t.Helper()
	r, err := ordersdb.NewActions(d.db).Get(context.Background(), d.business, reference)
	require.NoError(d.t, err)
	return r
}

func (d *riderHarness) contacts() int {
	d.t.Helper()
	bodies := pgtest.EventBodies(d.t, d.db, core.FeatureAction)
	for _, body := range bodies {
		eventtest.Check(d.t, core.FeatureAction, body)
	}
	return len(bodies)
}

func TestActionsOfOneOrderRunConcurrently(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	d.submit(id, action.WithMask)
	d.submit(id, action.CustomerData)
	require.Len(t, d.claim(me), 2)
}

func TestImmediateContactIsStoredWithItsEventAtomically(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	for n := 1; ; n++ {
		reference, before := d.submit(id, action.CustomerData), d.contacts()
		calls := d.claim(me)
		require.Len(t, calls, 1)
		result := d.done(calls[0])
		result.Outcome = relay.Outcome{State: relay.OutcomeDone, CustomerPhone: "+14155550199\x00\xff"}
		broken := pgtest.BreakAt(d.db, n)
		err := d.calls.Finish(context.Background(), me, []relay.Result{result})
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 6, "every statement is interrupted once")
			return
		}
		d.finish(me, result) // the engine retries
		require.Equal(t, "done", d.action(reference).State)
		require.Equal(t, before+1, d.contacts(), "statement %d", n)
	}
}

func TestActionCallbackIsRecordedOnceDespiteCrashes(t *testing.T) {
	d := newRiderHarness(t)
	id, actions := d.order("b", ""), ordersdb.NewActions(d.db)
	for n := 1; ; n++ {
		reference, before := d.submit(id, action.CustomerData), d.contacts()
		outcome := relay.Outcome{State: relay.OutcomeDone, CustomerPhone: "+14155550199", Action: action.CustomerData,
			PlatformOrderID: "R-1"}
		broken := pgtest.BreakAt(d.db, n)
		err := actions.Settle(context.Background(), d.business, "b", outcome)
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 6, "every statement is interrupted once")
			return
		}
		require.NoError(t, actions.Settle(context.Background(), d.business, "b", outcome),
			"the aggregator sends it again")
		require.Equal(t, "done", d.action(reference).State)
		require.Equal(t, before+1, d.contacts(), "statement %d", n)
	}
}

func TestActionCallbacksWithoutIDSettleOldestFirst(t *testing.T) {
	d := newRiderHarness(t)
	id, actions := d.order("b", ""), ordersdb.NewActions(d.db)
	first := d.submit(id, action.CustomerData)
	pgtest.Exec(t, d.db, `UPDATE calls SET payload = jsonb_set(payload::jsonb, '{phone}', '"1"')`) // of another rider
	second := d.submit(id, action.CustomerData)
	require.NotEqual(t, first, second)
	for _, phone := range []string{"111", "222", "222"} { // the last one is repeated
		require.NoError(t, actions.Settle(t.Context(), d.business, "b", relay.Outcome{State: relay.OutcomeDone,
			CustomerPhone: phone, Action: action.CustomerData, PlatformOrderID: "R-1"}))
	}
	require.Equal(t, []string{"111", "222"}, []string{d.action(first).CustomerPhone, d.action(second).CustomerPhone})
	require.Equal(t, 2, d.contacts())
}

func TestActionCallbackBeforeTheResponseCounts(t *testing.T) {
	d := newRiderHarness(t)
	reference := d.submit(d.order("b", ""), action.CustomerData)
	calls := d.claim(me)
	require.NoError(t, ordersdb.NewActions(d.db).Settle(context.Background(), d.business, "b",
		relay.Outcome{State: relay.OutcomeFailed, Message: "no such customer", CallID: reference}))
	late := d.done(calls[0])
	late.State = relay.Pending
	d.finish(me, late)
	r := d.action(reference)
	require.Equal(t, []any{"failed", "no such customer", 1}, []any{r.State, r.Message, len(r.Attempts)})
	require.Empty(t, d.claim(me))
	require.Equal(t, 1, d.contacts(), "a missing contact is published too")

	again := d.submit(r.OrderID, action.CustomerData)
	calls = d.claim(me)
	d.finish(me, d.retried(calls[0], time.Second))
	require.Equal(t, []string{"waiting", "status 500"}, []string{d.action(again).State, d.action(again).Message})
	require.NoError(t, ordersdb.NewActions(d.db).Settle(context.Background(), d.business, "b",
		relay.Outcome{State: relay.OutcomeDone, CustomerPhone: "1", CallID: again}))
	d.clock.Advance(time.Second)
	require.Empty(t, d.claim(me), "a settled action is not sent again")
	require.Equal(t, 2, d.contacts())
}

func TestOverdueContactRequestFailsAndIsReported(t *testing.T) {
	d := newRiderHarness(t)
	id, actions := d.order("b", ""), ordersdb.NewActions(d.db)
	submitPending := func(name string) core.ID {
		t.Helper()
		reference := d.submit(id, name)
		calls := d.claim(me)
		require.Len(t, calls, 1)
		pending := d.done(calls[0])
		pending.State = relay.Pending
		d.finish(me, pending)
		return reference
	}
	expire := func() int {
		t.Helper()
		n, err := actions.Expire(context.Background(), time.Hour)
		require.NoError(t, err)
		return n
	}
	contact, rider := submitPending(action.CustomerData), submitPending(action.AdditionalRider)
	d.clock.Advance(time.Hour - time.Minute)
	require.Zero(t, expire())
	young := submitPending(action.BodyTemp)
	d.clock.Advance(time.Minute)
	for n := 1; ; n++ {
		broken := pgtest.BreakAt(d.db, n)
		_, err := actions.Expire(context.Background(), time.Hour)
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 2, "statements are interrupted")
			break
		}
	}
	require.Zero(t, expire())
	require.Equal(t, []string{"failed", "failed", "pending"},
		[]string{d.action(contact).State, d.action(rider).State, d.action(young).State})
	require.Equal(t, 1, d.contacts(), "one event, for the contact only")
	require.Contains(t, string(pgtest.EventBodies(t, d.db, core.FeatureAction)[0]),
		`"status":"failed","message":"the aggregator has not reported the outcome in time"`)
	require.NoError(t, actions.Settle(context.Background(), d.business, "b",
		relay.Outcome{State: relay.OutcomeDone, CustomerPhone: "1", CallID: contact}))
	require.Equal(t, 1, d.contacts(), "a later outcome is ignored")
}

func TestAllEventsOfAnOrderGetSequenceNumbers(t *testing.T) {
	d := newRiderHarness(t)
	id, own, orders := d.order("b", ""), d.order("web", ""), ordersdb.New(d.db)
	report := func(id int64) {
		t.Helper()
		d.clock.Advance(time.Millisecond)
		_, _, err := orders.Report(context.Background(), d.business, core.NewID(d.clock.Now()),
			order.OutOfStockReport{OrderID: id, Items: []order.OutOfStockItem{{RefID: "curry"}}, Actor: "key:pos"})
		require.NoError(t, err)
	}
	report(own)
	report(id)
	d.submit(id, action.CustomerData)
	require.NoError(t, d.send(id, order.Assigned, order.Rider{}))
	calls := d.claim(me)
	require.Len(t, calls, 3)
	var results []relay.Result
	for _, c := range calls {
		results = append(results, d.done(c))
	}
	d.finish(me, results...)
	require.NoError(t, d.send(id, order.AtStore, order.Rider{}))
	sequences := func(id int64) (list string) {
		pgtest.Row(t, d.db, &list,
			`SELECT string_agg(concat(sequence, ' ', event_type), ', ' ORDER BY sequence) FROM events
				WHERE order_id = ?`, id)
		return list
	}
	require.Equal(t, "1 order_placed, 2 order_items_oos_processed", sequences(own))
	require.Equal(t,
		"1 order_placed, 2 rider_status_update, 3 feature_action, 4 order_items_oos_processed, 5 rider_status_update",
		sequences(id))
}

func TestFinishingACallLocksTheOrderFirst(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	d.submit(id, action.CustomerData)
	calls := d.claim(me)
	exec, commit := pgtest.BeginOther(t, d.db)
	exec(`SELECT 1 FROM orders WHERE id = ? FOR UPDATE`, id)
	done := make(chan error, 1)
	go func() { done <- d.calls.Finish(context.Background(), me, []relay.Result{d.done(calls[0])}) }()
	require.Eventually(t, func() bool { return pgtest.HasWaiters(t, d.db) }, 10*time.Second, time.Millisecond)
	exec(`SELECT 1 FROM call_queue FOR UPDATE NOWAIT`) // as a status change does before it queues a call
	commit()
	require.NoError(t, <-done)
	require.Equal(t, 1, d.contacts())
}
