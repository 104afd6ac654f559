package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/toggle"
)

// requireOnlyFirstFailed requires that of waiting calls only the first one has failed, and that the others wait for it.
func requireOnlyFirstFailed(t *testing.T, calls ...console.Call) {
	t.Helper()
	for i, call := range calls {
		require.Equal(t, "waiting", call.State)
		require.Equal(t, map[bool]string{true: "status 500"}[i == 0], call.Message)
		require.Equal(t, i > 0, call.NextAt.IsZero())
		require.Equal(t, i > 0, call.EarlierWaits)
	}
}

func TestCallsThatWaitForAnotherHaveNotFailed(t *testing.T) {
	d := newRiderHarness(t)
	id, read := d.order("b", ""), consolelists.New(d.db)
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	for _, status := range []order.RiderStatus{order.AtStore, order.OutForDelivery} {
		require.NoError(t, d.send(id, status, order.Rider{}))
	}
	claimed := d.claim(me)
	require.Len(t, claimed, 1)
	d.finish(me, d.retried(claimed[0], 8*time.Second))
	calls, err := read.CallsOfOrder(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Len(t, calls, 3)
	requireOnlyFirstFailed(t, calls...)
	rows, err := read.ListCalls(t.Context(), d.business, console.CallFilter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, rows, 3)
	requireOnlyFirstFailed(t, rows[2].Call, rows[1].Call, rows[0].Call)

	d.clock.Advance(8 * time.Second)
	d.finish(me, d.done(d.claim(me)[0]))
	calls, err = read.CallsOfOrder(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true}, []bool{calls[0].EarlierWaits, calls[1].EarlierWaits,
		calls[2].EarlierWaits})
}

func TestStoreCallsThatWaitHaveNotFailed(t *testing.T) {
	s := newSwitchHarness(t)
	var references []core.ID
	for _, open := range []bool{false, true} {
		references = append(references, s.switchStore("s1", open, time.Time{}, "a"))
		s.clock.Advance(time.Second)
	}
	owner := core.NewID(s.clock.Now())
	claimed := s.claimed(owner)
	require.Len(t, claimed, 1)
	require.NoError(t, s.calls.Finish(t.Context(), owner, []relay.Result{{Call: claimed[0], State: relay.Waiting,
		Message: "status 500", FinishedAt: s.clock.Now(), RetryAt: s.clock.Now().Add(time.Minute),
		Attempt: &relay.Attempt{StartedAt: s.clock.Now(), Status: 500}}}))
	calls, err := consolelists.New(s.db).CallsOfStore(t.Context(), s.business, s.storeID("s1"), 9)
	require.NoError(t, err)
	require.Len(t, calls, 2)
	requireOnlyFirstFailed(t, calls...)
	for i, reference := range references {
		standing, err := s.toggles.Status(t.Context(), s.business, reference)
		require.NoError(t, err)
		require.Equal(t, []toggle.PendingPlatform{{Platform: "a", LastError: calls[i].Message}}, standing.Pending)
	}
}

func TestLastSwitchStaysAmongCallsOfStore(t *testing.T) {
	s := newSwitchHarness(t)
	for _, open := range []bool{false, true} {
		s.switchStore("s1", open, time.Time{}, "a")
		s.clock.Advance(time.Second)
	}
	require.NoError(t, s.setWorkload(toggle.Busy, 0))
	for range 3 {
		s.clock.Advance(time.Second)
		s.switchItem("curry", false, time.Time{})
	}
	calls, err := consolelists.New(s.db).CallsOfStore(t.Context(), s.business, s.storeID("s1"), 2)
	require.NoError(t, err)
	var kinds []string
	for _, call := range calls {
		if call.Platform == "a" {
			kinds = append(kinds, call.Kind)
		}
	}
	require.Equal(t, []string{string(relay.StoreAction), string(relay.ItemAction), string(relay.ItemAction)}, kinds)
	require.Contains(t, string(calls[0].Payload), `"enable":true`)
}

func TestOrderShowsWhichOfItsCallsFailed(t *testing.T) {
	d := newRiderHarness(t)
	id, read := d.order("b", ""), orders.New(d.db)
	for _, status := range []order.RiderStatus{order.Assigned, order.AtStore, order.OutForDelivery} {
		require.NoError(t, d.send(id, status, order.Rider{Name: "Ann", Phone: "1"}))
	}
	for _, editable := range []bool{false, true} {
		d.clock.Advance(time.Millisecond)
		_, _, err := read.Report(t.Context(), d.business, core.NewID(d.clock.Now()), order.OutOfStockReport{OrderID: id,
			AllowEdit: editable, Items: []order.OutOfStockItem{{RefID: "curry"}}, Actor: "key:pos"})
		require.NoError(t, err)
	}
	claimed := d.claim(me)
	require.Len(t, claimed, 2, "a rider status and a report")
	d.finish(me, d.retried(claimed[0], time.Minute), d.retried(claimed[1], time.Minute))
	record, err := read.Get(t.Context(), d.business, "", id)
	require.NoError(t, err)
	waiting, failed := &order.RiderRelay{State: "waiting"}, &order.RiderRelay{State: "waiting", Message: "status 500"}
	relays := func(history order.RiderHistory) (list []*order.RiderRelay) {
		for _, step := range history {
			list = append(list, step.Relay)
		}
		return list
	}
	require.Equal(t, []*order.RiderRelay{failed, waiting, waiting}, relays(record.RiderHistory))
	require.Len(t, record.OutOfStockReports, 2)
	require.Equal(t, []string{"status 500", ""},
		[]string{record.OutOfStockReports[0].Message, record.OutOfStockReports[1].Message})
}

func TestFirstWaitingCallIsFoundAmongMany(t *testing.T) {
	d := newRiderHarness(t)
	id, references := d.order("b", ""), []core.ID{}
	for _, to := range []struct {
		status order.RiderStatus
		action toggle.Action
	}{{order.Assigned, toggle.Disable}, {order.AtStore, toggle.Enable}} {
		require.NoError(t, d.send(id, to.status, order.Rider{Name: "Ann", Phone: "1"}))
		reference := core.NewID(d.clock.Now())
		_, err := availability.New(d.db).SwitchStore(t.Context(), d.business, toggle.StoreRequest{LocationRefID: "s1",
			Platforms: []string{"b"}, Action: to.action}, reference, "key:pos")
		require.NoError(t, err)
		references = append(references, reference)
	}
	pgtest.Exec(t, d.db, unchecked)
	pgtest.Exec(t, d.db, `INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor,
			state, created_at)
		SELECT ?, gen_random_uuid(), 'order:' || n, 'order_status', 'b', 1000000 + n, '{}', 'hub', 'waiting', now()
		FROM generate_series(1, 20000) n`, d.business)
	pgtest.Exec(t, d.db, `INSERT INTO call_queue (business_id, ordering_key, kind, platform, order_id, endpoint,
			call_id, received_at, due_at, available_at)
		SELECT business_id, ordering_key, kind, platform, order_id, 1, id, now(), now(), now() FROM calls
		WHERE order_id > 1000000`)
	pgtest.Exec(t, d.db, "ANALYZE calls")
	pgtest.Exec(t, d.db, "ANALYZE call_queue")
	var log statementLog
	log.listen(d.db)
	record, err := orders.New(d.db).Get(t.Context(), d.business, "", id)
	require.NoError(t, err)
	require.Len(t, record.RiderHistory, 2)
	for _, reference := range references {
		standing, err := availability.New(d.db).Status(t.Context(), d.business, reference)
		require.NoError(t, err)
		require.Len(t, standing.Pending, 1)
	}
	read := 0
	for _, one := range log.statements {
		read += rowsOn(t, d.db, " on call", one.text)
	}
	require.Greater(t, read, 4)
	require.Less(t, read, 50)
}
