package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/order"
)

func TestRejectedOrdersAreCountedListedAndExpired(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	k.store("s1")
	orders, read := ordersdb.New(db), consoleview.New(db)
	lists := consolelists.New(db)
	refuse := func(business core.BusinessID, id, store, reason string) {
		require.NoError(t, orders.RecordRejected(t.Context(),
			order.Rejection{Business: business, Platform: "web", PlatformOrderID: id, Store: store, Reason: reason}))
	}
	list := func(f console.RejectedFilter) (found []console.RejectedOrder, all int) {
		f.Limit = 2
		found, all, err := lists.RejectedOrders(t.Context(), k.business, f)
		require.NoError(t, err)
		return found, all
	}
	first := clock.Now()
	refuse(k.business, "W-1", "nowhere", "no store")
	refuse(otherBusiness.business, "W-1", "nowhere", "not yours")
	clock.Advance(time.Minute)
	refuse(k.business, "W-2", "s1", "no price")
	clock.Advance(time.Minute)
	refuse(k.business, "W-1", "s1", "no price either")

	found, all := list(console.RejectedFilter{})
	require.Equal(t, 2, all)
	require.Equal(t, []any{"W-1", "s1", "no price either", int64(2), true, true, int64(0)},
		[]any{found[0].PlatformOrderID, found[0].Store, found[0].Reason, found[0].Times, found[0].First.Equal(first),
			found[0].Last.Equal(clock.Now()), found[0].OrderID})
	for name, f := range map[string]console.RejectedFilter{"W-2": {Before: found[0].Last},
		"W-1": {Since: found[0].Last}} {
		some, _ := list(f)
		require.Len(t, some, 1)
		require.Equal(t, name, some[0].PlatformOrderID)
	}
	for _, f := range []console.RejectedFilter{{ID: "W-3"}, {Platform: "app"}, {Store: "nowhere"}} {
		_, all := list(f)
		require.Zero(t, all, f)
	}

	came := k.placeOrder(newIntake(t, db), k.arrival("W-1", "web", oneCurry, ""))
	found, _ = list(console.RejectedFilter{ID: "W-1"})
	require.Equal(t, came.Order.Details.ID, found[0].OrderID)
	_, all = list(console.RejectedFilter{Missing: true})
	require.Equal(t, 1, all)
	notices, err := read.Notices(t.Context(), []core.BusinessID{k.business}, time.Time{})
	require.NoError(t, err)
	require.Len(t, notices.RejectedOrders, 1)
	require.Equal(t, []any{1, "no price"}, []any{notices.RejectedOrders[0].Count, notices.RejectedOrders[0].Reason})
	clock.Advance(console.RejectionWindow)
	notices, err = read.Notices(t.Context(), []core.BusinessID{k.business}, time.Time{})
	require.NoError(t, err)
	require.Empty(t, notices.RejectedOrders)

	require.NoError(t, orders.DropOld(t.Context(), time.Minute))
	_, all = list(console.RejectedFilter{})
	require.Zero(t, all)
}

func TestHubFaultsAreCountedApartWithUnreadableOrders(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k := newMenuHarness(t, db, "US")
	orders, read := ordersdb.New(db), consoleview.New(db)
	lists := consolelists.New(db)
	reject := func(ctx context.Context, id string, fault bool) error {
		return orders.RecordRejected(ctx, order.Rejection{Business: k.business, Platform: "tasty", PlatformOrderID: id,
			Reason: "r" + id, HubFault: fault})
	}
	for _, id := range []string{"T-1", "", "", "T-2", "T-1"} {
		require.NoError(t, reject(t.Context(), id, true))
	}
	require.NoError(t, reject(t.Context(), "T-3", false))
	notices, err := read.Notices(t.Context(), []core.BusinessID{k.business}, time.Time{})
	require.NoError(t, err)
	require.Len(t, notices.RejectedOrders, 2)
	require.Equal(t, []any{true, 4, "rT-1"}, []any{notices.RejectedOrders[0].HubFault, notices.RejectedOrders[0].Count,
		notices.RejectedOrders[0].Reason}, "each request without an id counts")
	require.Equal(t, []any{false, 1}, []any{notices.RejectedOrders[1].HubFault, notices.RejectedOrders[1].Count})
	for fault, count := range map[console.RejectionFault]int{"": 5, console.HubFault: 4, console.OrderFault: 1} {
		_, all, err := lists.RejectedOrders(t.Context(), k.business, console.RejectedFilter{Fault: fault, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, count, all, fault)
	}
	hits, err := read.Search(t.Context(), []core.BusinessID{k.business}, "T-2")
	require.NoError(t, err)
	require.Equal(t, "refused", hits[0].Kind)
}

func TestUnstoredRejectionsAreStoredLater(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	orders := ordersdb.New(db)
	reject := func(ctx context.Context, id string) error {
		return orders.RecordRejected(ctx, order.Rejection{Business: k.business, Platform: "tasty", PlatformOrderID: id})
	}
	locked, err := db.Bun().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = locked.Exec(`SELECT pg_advisory_xact_lock(hashtext('rejected_orders'))`)
	require.NoError(t, err)
	blocked := make(chan error, 1)
	go func() { blocked <- reject(context.Background(), "T-1") }()
	hubtest.WaitUntil(t, "the batch waits", func() bool {
		var waiting int
		require.NoError(t, db.Bun().QueryRow(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting))
		return waiting == 1
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, core.Unavailable, core.CodeOf(reject(ended, "T-2")))
	require.NoError(t, locked.Rollback())
	require.NoError(t, <-blocked)
	require.NoError(t, orders.StorePendingRejected(t.Context()))
	require.NoError(t, orders.StorePendingRejected(t.Context()), "nothing is left")
	found, _, err := consolelists.New(db).RejectedOrders(t.Context(), k.business, console.RejectedFilter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []any{"T-2", int64(1)}, []any{found[0].PlatformOrderID, found[0].Times})
}

func TestRepeatsWithOtherContentLeaveATrace(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k, other := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	k.store("s1")
	orders, read := ordersdb.New(db), consolelists.New(db)
	first := k.arrival("W-1", "web", oneCurry, "")
	id := k.placeOrder(newIntake(t, db), first).Order.Details.ID
	repeats := func(business core.BusinessID) []console.OrderRepeat {
		list, err := read.OrderRepeats(t.Context(), business, id)
		require.NoError(t, err)
		return list
	}
	repeat := func(change func(*order.Draft)) {
		again := k.arrival("W-1", "web", oneCurry, "").Draft
		change(&again)
		clock.Advance(time.Second)
		require.NoError(t, orders.RecordRepeat(t.Context(), k.business, id, "key:shop", again))
	}
	repeat(func(*order.Draft) {})
	require.Empty(t, repeats(k.business), "the same content")
	more := func(d *order.Draft) { *d.Items[0].Quantity = 3 }
	repeat(more)
	repeat(func(d *order.Draft) { d.Coupon = "TEN" })
	repeat(more)
	found := repeats(k.business)
	require.Len(t, found, 2)
	require.Equal(t, []any{2, "key:shop", true}, []any{found[0].Times, found[0].Actor,
		found[0].Last.Equal(clock.Now())})
	require.Contains(t, found[0].Differences, "quantity 1, in the repeat 3")
	require.Equal(t, "coupon: none, in the repeat TEN", found[1].Differences)
	require.Empty(t, repeats(other.business))
	require.Equal(t, core.NotFound, core.CodeOf(orders.RecordRepeat(t.Context(), other.business, id, "key:shop",
		first.Draft)))
	for n := range 30 {
		repeat(func(d *order.Draft) { d.Coupon = fmt.Sprint(n) })
	}
	require.Len(t, repeats(k.business), 20)
	require.Contains(t, repeats(k.business)[0].Differences, "in the repeat 29")
	clock.Advance(time.Hour)
	require.NoError(t, orders.DropOld(t.Context(), time.Minute))
	require.Empty(t, repeats(k.business))
}

func TestRejectedOrdersAreBoundedPerBusiness(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	hubs := []ordersdb.Store{ordersdb.New(db), ordersdb.New(hubtest.Connect(t, url, nil))}
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	reject := func(business core.BusinessID, hub int, id string) {
		require.NoError(t, hubs[hub%2].RecordRejected(t.Context(),
			order.Rejection{Business: business, Platform: "web", PlatformOrderID: id, Reason: "r"}))
	}
	reject(otherBusiness.business, 0, "W")
	var keeping sync.WaitGroup
	for n := range 900 {
		keeping.Go(func() { reject(k.business, n, fmt.Sprint("W-", n%700)) })
	}
	keeping.Wait()
	reject(k.business, 0, "last")
	for business, count := range map[core.BusinessID]int{k.business: 500, otherBusiness.business: 1} {
		found, all, err := consolelists.New(db).RejectedOrders(t.Context(), business,
			console.RejectedFilter{Limit: 1000})
		require.NoError(t, err)
		require.Equal(t, []int{count, count}, []int{all, len(found)})
		if business == k.business {
			require.Equal(t, "last", found[0].PlatformOrderID)
		}
		moments := map[time.Time]bool{}
		for _, r := range found {
			moments[r.Last] = true
		}
		require.Len(t, moments, count, "pages of a list end between two of them")
	}
}

func TestUnverifiedCallsAreRecordedOncePerSecond(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	callers, read := platformsdb.NewCallers(db), consoleview.New(db)
	note := func(business core.BusinessID, platform, why string) {
		require.NoError(t, callers.RecordRejection(t.Context(), business, platform, why))
	}
	recorded := func() (list map[string]string) {
		platforms, err := read.ListPlatforms(t.Context(), k.business)
		require.NoError(t, err)
		list = map[string]string{}
		for _, p := range platforms {
			if !p.RejectedAt.IsZero() {
				list[p.Name] = p.Rejection
			}
		}
		return list
	}
	token, err := read.ChangeToken(t.Context(), k.business)
	require.NoError(t, err)
	note(1<<40, "web", "nobody")
	note(k.business, "mars", "no such platform")
	note(otherBusiness.business, "web", "not yours")
	require.Empty(t, recorded())
	note(k.business, "web", "first")
	clock.Advance(time.Second - time.Millisecond)
	note(k.business, "web", "too soon")
	require.Equal(t, map[string]string{"web": "first"}, recorded())
	clock.Advance(time.Millisecond)
	note(k.business, "web", "second")
	require.Equal(t, map[string]string{"web": "second"}, recorded())
	after, err := read.ChangeToken(t.Context(), k.business)
	require.NoError(t, err)
	require.Equal(t, token, after, "a stranger's calls do not make pages reload")
}
