package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

func TestCancellationAppliesBeforeOrAfterItsOrder(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, intake, orders := newMenuHarness(t, db, "US"), newIntake(t, db), ordersdb.New(db)
	pgtest.Exec(t, db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'a', 'aggregator-a')`,
		k.business)
	k.store("s1")
	taken := func(id, platform string) order.Cancellation {
		return order.Cancellation{Platform: platform, PlatformOrderID: id, Reason: "changed my mind"}
	}
	states := func(id int64) (list []order.State) {
		record, err := orders.Get(t.Context(), k.business, "", id)
		require.NoError(t, err)
		for _, step := range record.History {
			list = append(list, step.State)
		}
		return list
	}
	waiting := func() (n int) {
		pgtest.Row(t, db, &n, `SELECT count(*) FROM pending_cancellations`)
		return n
	}

	for range 2 { // before its order, and twice
		id, _, err := orders.Cancel(t.Context(), k.business, taken("1", "a"))
		require.NoError(t, err)
		require.Zero(t, id)
	}
	otherBusiness := newMenuHarness(t, db, "US")
	_, _, err := orders.Cancel(t.Context(), otherBusiness.business, taken("2", "a"))
	require.NoError(t, err)
	first, second := k.placeOrder(intake, k.arrival("1", "a", oneCurry, "")),
		k.placeOrder(intake, k.arrival("2", "a", oneCurry, ""))
	require.Equal(t, []order.State{order.Placed, order.Cancelled}, states(first.Order.Details.ID))
	require.Equal(t, []order.State{order.Placed}, states(second.Order.Details.ID),
		"another business has cancelled one of the same name")
	require.Equal(t, 1, waiting())

	for n, from := range []order.State{order.Placed, order.Cancelled} { // after its order, and twice
		id, was, err := orders.Cancel(t.Context(), k.business, taken("2", "a"))
		require.NoError(t, err)
		require.Equal(t, []any{second.Order.Details.ID, from}, []any{id, was}, n)
	}
	require.Equal(t, []order.State{order.Placed, order.Cancelled}, states(second.Order.Details.ID))

	third := k.placeOrder(intake, k.arrival("3", "a", oneCurry, ""))
	_, err = orders.Change(t.Context(), k.business, third.Order.Details.ID, order.Change{To: order.Completed})
	require.NoError(t, err)
	_, _, err = orders.Cancel(t.Context(), k.business, taken("3", "a"))
	require.Equal(t, core.Conflict, core.CodeOf(err), "after the order's end")

	// A cancellation that the batch of its order missed, as after a crash, is found later.
	_, _, err = orders.Cancel(t.Context(), k.business, taken("4", "web"))
	require.NoError(t, err)
	fourth := k.placeOrder(intake, k.arrival("4", "web", oneCurry, ""))
	require.Equal(t, []order.State{order.Placed}, states(fourth.Order.Details.ID))
	require.NoError(t, orders.ApplyPendingCancellations(t.Context()))
	require.NoError(t, orders.ApplyPendingCancellations(t.Context()))
	require.Equal(t, []order.State{order.Placed, order.Cancelled}, states(fourth.Order.Details.ID))
	require.Equal(t, 1, waiting())
	require.NoError(t, orders.DropOld(t.Context(), -time.Hour))
	require.Zero(t, waiting())

	_, _, err = orders.Cancel(t.Context(), k.business, taken(" ", "a"))
	require.EqualError(t, err, "platform_order_id is required")
	_, _, err = orders.Cancel(t.Context(), k.business,
		order.Cancellation{Platform: "a", PlatformOrderID: "5", Reason: "\x00" + strings.Repeat("x", 9000)})
	require.NoError(t, err)
}

func TestConcurrentCancellationsCancelEachOrderOnce(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, intake, orders := newMenuHarness(t, db, "US"), newIntake(t, db), ordersdb.New(db)
	pgtest.Exec(t, db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'a', 'aggregator-a')`,
		k.business)
	k.store("s1")
	const n = 40
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, err := intake.Place(t.Context(), k.arrival(fmt.Sprint(i), "a", oneCurry, ""))
			require.NoError(t, err)
		})
		all.Go(func() {
			_, _, err := orders.Cancel(t.Context(), k.business,
				order.Cancellation{Platform: "a", PlatformOrderID: fmt.Sprint(i)})
			require.NoError(t, err)
		})
	}
	all.Wait()
	require.NoError(t, orders.ApplyPendingCancellations(t.Context())) // those for which the intake had no time
	var cancelled, waiting int
	pgtest.Row(t, db, &cancelled, `SELECT count(*) FROM orders WHERE state = 'Cancelled'`)
	pgtest.Row(t, db, &waiting, `SELECT count(*) FROM pending_cancellations`)
	require.Equal(t, []int{n, n, 0}, []int{cancelled, len(pgtest.EventBodies(t, db, core.OrderStatusUpdate)), waiting})
}

func TestChannelsReceiveNoCallsAboutTheirChanges(t *testing.T) {
	for byChannel, calls := range map[bool]int{true: 0, false: 1} {
		d := newRiderHarness(t)
		_, err := ordersdb.New(d.db).Change(t.Context(), d.business, d.order("b", ""),
			order.Change{To: order.Cancelled, Actor: "key:web", ByChannel: byChannel})
		require.NoError(t, err)
		require.Len(t, d.claim(me), calls)
	}
}
