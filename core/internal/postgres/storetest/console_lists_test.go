package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

func TestDeliveriesAreFoundByPayloadAndResponse(t *testing.T) {
	c := newDeliveryHarness(t)
	for n := range 60 {
		c.clock.Advance(time.Second)
		publish(t, c.db, c.business, "", fmt.Sprintf(`{"title":"Dish %02d \"hot\""}`, n))
	}
	owner, claimed, _ := c.claim()
	c.end(webhook.Failed, owner, claimed[5])
	pgtest.Exec(t, c.db, `UPDATE attempts SET response_body = 'Till is OFFLINE', error = 'the server responded with 404'
		WHERE delivery_id = ?`, claimed[5].ID)
	read := consolelists.New(c.db)
	find := func(text string, f webhook.Filter) (ids []core.ID, done bool) {
		f.Limit = max(f.Limit, 50)
		found, progress, err := read.SearchDeliveries(t.Context(), c.business, f, text)
		require.NoError(t, err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids, progress.Done
	}
	for _, text := range []string{"dish 07", `07 "HOT"`, `07 \"hot`} {
		found, done := find(text, webhook.Filter{})
		require.Len(t, found, 1, text)
		require.True(t, done)
	}
	for _, text := range []string{"till is offline", "responded with 404"} {
		found, _ := find(text, webhook.Filter{})
		require.Equal(t, []core.ID{claimed[5].ID}, found, text)
	}
	found, _ := find("offline", webhook.Filter{State: webhook.Delivered})
	require.Empty(t, found, "it keeps the other filters")
	all, done := find("dish", webhook.Filter{})
	require.Len(t, all, 50)
	require.False(t, done)
	rest, done := find("dish", webhook.Filter{Before: all[49]})
	require.Len(t, rest, 10)
	require.True(t, done)
	require.NotContains(t, all, rest[0])
}

// TestDeliveriesKeepEachOrderAcrossPages reads the list page by page in each order, with equal times of failure.
func TestDeliveriesKeepEachOrderAcrossPages(t *testing.T) {
	c := newDeliveryHarness(t)
	for range 3 {
		c.publish(4)
		owner, claimed, _ := c.claim()
		c.clock.Advance(time.Minute)
		c.end(webhook.Failed, owner, claimed...)
	}
	c.publish(2) // in the queue
	for sort, of := range map[webhook.Sort]bool{webhook.NewestFirst: false, webhook.OldestFirst: false,
		webhook.LatestFailure: true, webhook.FirstFailureFirst: true} {
		f := webhook.Filter{Sort: sort, OfFailure: of, Limit: 100}
		all, err := c.queue.List(t.Context(), c.business, f)
		require.NoError(t, err)
		require.Len(t, all, map[bool]int{false: 14, true: 12}[of])
		var paged []webhook.DeliveryRecord
		for f.Limit = 3; ; {
			page, err := c.queue.List(t.Context(), c.business, f)
			require.NoError(t, err)
			if paged = append(paged, page...); len(page) < 3 {
				break
			}
			f = f.After(page[2])
		}
		require.Equal(t, all, paged, sort)
		for i := 1; i < len(all); i++ {
			earlier, later := all[i-1], all[i]
			if sort == webhook.NewestFirst || sort == webhook.LatestFailure {
				earlier, later = later, earlier
			}
			if of {
				require.False(t, later.FinishedAt.Before(earlier.FinishedAt), sort)
			} else {
				require.False(t, later.CreatedAt.Before(earlier.CreatedAt), sort)
			}
		}
	}
	for _, f := range []webhook.Filter{{Sort: "url"}, {Sort: webhook.LatestFailure}} {
		_, err := c.queue.List(t.Context(), c.business, f)
		require.ErrorContains(t, err, fmt.Sprintf("cannot be sorted by %q", f.Sort))
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
}

func TestMatchingDeliveriesAreCountedUpToABound(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	pgtest.Exec(t, db, listRows["deliveries"]+` generate_series(1, 20100) n`, business)
	queue := deliveries.New(db)
	count := func(s webhook.Selector) (int, bool) {
		s.To, s.EndedBy = time.Now(), time.Now()
		n, more, err := queue.CountUpTo(t.Context(), business, s)
		require.NoError(t, err)
		return n, more
	}
	n, more := count(webhook.Selector{State: webhook.Failed})
	require.Equal(t, []any{201, false}, []any{n, more})
	n, more = count(webhook.Selector{State: webhook.Failed, EventType: core.OrderPlaced, Status: 503})
	require.Equal(t, []any{201, false}, []any{n, more})
	n, more = count(webhook.Selector{State: webhook.Failed, Status: 404})
	require.Equal(t, []any{0, false}, []any{n, more})
	n, more = count(webhook.Selector{State: webhook.Delivered})
	require.Equal(t, []any{19899, false}, []any{n, more})
	pgtest.Exec(t, db, listRows["deliveries"]+` generate_series(20101, 21000) n`, business)
	n, more = count(webhook.Selector{State: webhook.Delivered})
	require.Equal(t, []any{20000, true}, []any{n, more})
}

// callsOfList inserts calls of an order and a store. Every tenth has failed.
func callsOfList(t *testing.T) (consolelists.Store, core.BusinessID) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	pgtest.Exec(t, db, listRows["calls"]+` generate_series(1, 40) n`, business)
	pgtest.Exec(t, db, `INSERT INTO call_attempts (business_id, call_id, order_id, n, started_at, method, url,
			request_headers, request_body, status, error_class, error, response_headers, response_body, total_us)
		SELECT business_id, id, order_id, 1, now(), 'POST', 'https://a.example/', '{}', 'sent',
			CASE WHEN state = 'failed' THEN 503 ELSE 200 END, '', '', '{}', 'Nobody is there', 9 FROM calls`)
	return consolelists.New(db), business
}

func TestCallsAreListedFilteredAndSorted(t *testing.T) {
	read, business := callsOfList(t)
	list := func(f console.CallFilter) []console.CallRow {
		f.Limit = 100
		rows, err := read.ListCalls(t.Context(), business, f)
		require.NoError(t, err)
		return rows
	}
	all := list(console.CallFilter{})
	require.Len(t, all, 40)
	require.True(t, all[0].CreatedAt.After(all[39].CreatedAt))
	require.Equal(t, []any{int64(36), int64(0), 1, 503, "failed"},
		[]any{all[0].OrderID, all[0].StoreID, all[0].Tries, all[0].Status, all[0].State}, "of call 40")
	require.Equal(t, int64(39), list(console.CallFilter{Kind: "store_action"})[0].StoreID)
	require.Len(t, list(console.CallFilter{State: "failed"}), 4)
	require.Len(t, list(console.CallFilter{OrderID: 36}), 4)
	for sort, of := range map[webhook.Sort]bool{webhook.OldestFirst: false, webhook.LatestFailure: true,
		webhook.FirstFailureFirst: true} {
		f := console.CallFilter{Sort: sort, OfFailure: of}
		whole := list(f)
		var paged []console.CallRow
		for f.Limit = 3; ; {
			page, err := read.ListCalls(t.Context(), business, f)
			require.NoError(t, err)
			if paged = append(paged, page...); len(page) < 3 {
				break
			}
			f = f.After(page[2])
		}
		require.Equal(t, whole, paged, sort)
	}
	_, err := read.ListCalls(t.Context(), business, console.CallFilter{Sort: "platform", Limit: 1})
	require.ErrorContains(t, err, `cannot be sorted by "platform"`)
	one, err := read.Call(t.Context(), business, all[0].ID)
	require.NoError(t, err)
	require.Equal(t, "Nobody is there", string(one.Attempts[0].ResponseBody))
	_, err = read.Call(t.Context(), business, business7)
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

// business7 is an id of nothing.
var business7 = core.ID{7}

func TestCallsJobsAndAuditAreSearchedByText(t *testing.T) {
	read, business := callsOfList(t)
	found, progress, err := read.SearchCalls(t.Context(), business, console.CallFilter{Text: "NOBODY", Status: 503,
		Limit: 50})
	require.NoError(t, err)
	require.Len(t, found, 4)
	require.Equal(t, 40, progress.Searched)
	found, _, err = read.SearchCalls(t.Context(), business, console.CallFilter{Text: "nothing of it", Limit: 50})
	require.NoError(t, err)
	require.Empty(t, found)
	found, _, err = read.SearchCalls(t.Context(), business, console.CallFilter{Status: 200, Limit: 50})
	require.NoError(t, err)
	require.Len(t, found, 36)
}

func TestJobsOrdersAndAuditAreSearchedByText(t *testing.T) {
	p := newPublishHarness(t)
	enqueue(t, p.db, p.business, `{"stores":[{"ref_id":"S-99","name":"Harbour"}]}`)
	read := consolelists.New(p.db)
	jobs, _, err := read.SearchJobs(t.Context(), p.business, console.JobFilter{Limit: 50}, "harbour")
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	receipts, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, p.db), p.arrival("A-1", "a", oneCurry, ""))
	require.NoError(t, failures[0])
	for text, want := range map[string]int{"curry": 1, "pizza": 0} {
		for _, oldest := range []bool{false, true} {
			orders, _, err := read.SearchOrders(t.Context(), p.business,
				console.OrderFilter{Limit: 50, Oldest: oldest}, text)
			require.NoError(t, err)
			require.Len(t, orders, want, text)
			if want == 1 {
				require.Equal(t, receipts[0].OrderID, orders[0].ID)
			}
		}
	}
	pgtest.Exec(t, p.db, `INSERT INTO audit (business_id, id, at, actor, action, object, detail)
		VALUES (?, gen_random_uuid(), now(), 'key:pos', 'store.close', 'store/1', '{"why":"Kitchen is on fire"}')`,
		p.business)
	entries, _, err := read.SearchAudit(t.Context(), p.business, console.EntryFilter{Limit: 50, Oldest: true},
		"on FIRE")
	require.NoError(t, err)
	require.Len(t, entries, 1)
}
