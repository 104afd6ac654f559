package storetest

import (
	"net/http"
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
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestPlatformRejectionsAreListedForADay(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	k.store("s1")
	read, intake := consoleview.New(db), newIntake(t, db)
	lists := consolelists.New(db)
	one, two := k.placeOrder(intake, k.arrival("W-1", "web", oneCurry, "")),
		k.placeOrder(intake, k.arrival("W-2", "web", oneCurry, ""))
	type ended struct {
		kind, state, message string
		order                int64
	}
	call := func(business core.BusinessID, c ended, age time.Duration) {
		at := clock.Now().Add(-age)
		pgtest.Exec(t, db,
			`INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor, state, message,
				created_at, finished_at)
			VALUES (?, ?, '', ?, 'web', ?, '{}', 'hub', ?, ?, ?, ?)`, business, core.NewID(at), c.kind, c.order,
			c.state, c.message, at, at)
	}
	call(k.business, ended{"order_acknowledge", "failed", "the first", one.Order.Details.ID}, time.Hour)
	call(k.business, ended{"order_status", "failed", "the last", one.Order.Details.ID}, time.Minute)
	call(k.business, ended{"order_status", "failed", "before", one.Order.Details.ID}, 2*time.Hour)
	call(k.business, ended{"order_status", "failed", "long ago", two.Order.Details.ID}, 25*time.Hour)
	call(k.business, ended{"order_acknowledge", "done", "", two.Order.Details.ID}, time.Minute)
	call(otherBusiness.business, ended{"store_action", "failed", "not yours", 0}, time.Second)

	for n, status := range []int{500, 401} {
		pgtest.Exec(t, db,
			`INSERT INTO call_attempts (business_id, call_id, order_id, n, started_at, method, url, request_headers,
				status, error_class, error, response_headers, response_body, total_us)
			SELECT business_id, id, order_id, ?, finished_at, '', '', '', ?, 'refused', message, '', '', 1
			FROM calls WHERE message IN ('the last', 'the first')`, n+1, status)
	}

	day := clock.Now().Add(-24 * time.Hour)
	failedCalls := func(business core.BusinessID) []console.FailedCalls {
		notices, err := read.Notices(t.Context(), []core.BusinessID{business}, day)
		require.NoError(t, err)
		for i := range notices.Calls {
			require.WithinDuration(t, clock.Now(), notices.Calls[i].At, time.Minute)
			notices.Calls[i].At = time.Time{}
		}
		return notices.Calls
	}
	require.Equal(t, []console.FailedCalls{{Business: k.business, Platform: "web", ServedBy: core.ServedByMerchant,
		Orders: true, Message: "the last", Status: http.StatusUnauthorized,
		Kinds: []console.CallCount{{Kind: "order_status", Count: 2}, {Kind: "order_acknowledge", Count: 1}}}},
		failedCalls(k.business))
	require.Equal(t, []console.FailedCalls{{Business: otherBusiness.business, Platform: "web",
		ServedBy: core.ServedByMerchant,
		Message:  "not yours",
		Kinds:    []console.CallCount{{Kind: "store_action", Count: 1}}}}, failedCalls(otherBusiness.business))
	pgtest.Exec(t, db, `UPDATE orders SET created_at = created_at - interval '3 days'`) // calls fail after a day
	listed, err := lists.ListOrders(t.Context(), k.business,
		console.OrderFilter{CallFailed: true, From: day, Limit: 10})
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, one.Order.Details.ID, listed[0].ID)
}

func TestConsoleListsPartlyRejectedRequests(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	business, read := hubtest.Business(t, db).ID, consoleview.New(db)
	lists := consolelists.New(db)
	at := clock.Now().Add(-time.Hour)
	ended := func(kind, state, result string, total int, dry bool) core.ID {
		at = at.Add(time.Second)
		id := core.NewID(at)
		pgtest.Exec(t, db,
			`INSERT INTO jobs (business_id, id, kind, subject, actor, state, body, created_at, total, result, dry_run)
				VALUES (?, ?, ?, 's1', 'key:pos', ?, '', ?, ?, ?, ?)`,
			business, id, kind, state, at, total, result, dry)
		return id
	}
	some := ended("menu", "done",
		`{"stats":{"items":{"errors":4},"taxes":{"errors":0}},"failed":[{}],"warnings":[{}]}`, 10,
		false)
	stores := ended("stores", "done", `{"created":1,"errors":1,"failed":[{}]}`, 2, false)
	timings := ended("timing_groups", "done", `{"groups":3,"errors":3}`, 3, false)
	last := ended("menu", "done", `{"stats":{"items":{"errors":300},"taxes":{"errors":2}},"failed":[{}]}`, 302, false)
	ended("timing_groups", "done", `{"groups":3,"errors":0}`, 3, false)
	warned := ended("menu", "done", `{"stats":{},"warnings":[{"message":"m"}]}`, 3, false)
	ended("menu", "done", `{"stats":{},"warnings":[{"message":"m"}]}`, 3, true)
	ended("menu", "done", `{"stats":{},"warnings":[]}`, 3, false)
	ended("menu", "done", `{"stats":{"items":{"errors":0}}}`, 3, false)
	ended("menu", "done", `{"errors":[{}],"failed":[{}]}`, 1, true)
	retry := ended("order_retry", "done", `{"retried":0,"failed":3}`, 3, false)
	ended("order_retry", "done", `{"retried":3,"failed":0}`, 3, false)
	resend := ended("problem_resend", "done", `{"selected":430,"sent":430,"delivered":0,"failed":430}`, 430, false)
	ended("problem_resend", "done", `{"selected":9,"sent":9,"delivered":9,"failed":0}`, 9, false)
	skipped := ended("redelivery", "done", `{"resent":9,"skipped":3}`, 12, false)
	ended("redelivery", "done", `{"resent":9,"skipped":0}`, 9, false)
	ended("menu", "failed", `{}`, 3, false)

	notices, err := read.Notices(t.Context(), []core.BusinessID{business, hubtest.Business(t, db).ID},
		clock.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []console.PartlyFailedJobs{{Business: business, Count: 3, Reference: last, Kind: "menu",
		Subject: "s1",
		Failed:  302, Total: 302}}, notices.PartlyFailed)
	listed, err := lists.ListJobs(t.Context(), business, console.JobFilter{State: console.WithFailures, Limit: 10})
	require.NoError(t, err)
	found := make([]core.ID, len(listed))
	for i, j := range listed {
		found[i] = j.Reference
	}
	require.Equal(t, []core.ID{skipped, resend, retry, last, timings, stores, some}, found)
	listed, err = lists.ListJobs(t.Context(), business, console.JobFilter{State: console.WithWarnings, Limit: 10})
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, []any{warned, "key:pos"}, []any{listed[0].Reference, listed[0].Actor})
	listed, err = lists.ListJobs(t.Context(), business, console.JobFilter{Kind: "order_retry", Limit: 10})
	require.NoError(t, err)
	require.JSONEq(t, `{"retried":0,"failed":3}`, string(listed[1].Result))
	listed, err = lists.ListJobs(t.Context(), business, console.JobFilter{Kind: "stores", Limit: 10})
	require.NoError(t, err)
	require.JSONEq(t, `{"created":1,"errors":1}`, string(listed[0].Result), "a list does not read each failure")
	notices, err = read.Notices(t.Context(), []core.BusinessID{business}, clock.Now())
	require.NoError(t, err)
	require.Empty(t, notices.PartlyFailed)
}

func TestUndeliveredOrdersAreListedUntilRetried(t *testing.T) {
	c := newOrderRetryHarness(t)
	read, since := consoleview.New(c.db), c.db.Clock().Now().Add(-time.Hour)
	lists := consolelists.New(c.db)
	unnotified := func() (list []console.UnnotifiedOrders, listed []console.Order) {
		list, err := read.UnnotifiedOrders(t.Context(), []core.BusinessID{hubtest.Business(t, c.db).ID, c.business},
			since)
		require.NoError(t, err)
		listed, err = lists.ListOrders(t.Context(), c.business, console.OrderFilter{Unnotified: true, Limit: 10})
		require.NoError(t, err)
		return list, listed
	}
	c.place(t, 3)
	require.JSONEq(t, `{"retried":0,"failed":0}`, c.retry(t))
	list, listed := unnotified()
	require.Len(t, listed, 3)
	order := listed[0].ID
	record, err := ordersdb.New(c.db).Get(t.Context(), c.business, "", order)
	require.NoError(t, err)
	require.True(t, record.Unnotified)
	require.Len(t, list, 1)
	require.Equal(t, []any{c.business, 3, false}, []any{list[0].Business, list[0].Count, list[0].HasWebhook})
	require.True(t, list[0].Last.Equal(listed[0].Placed) && list[0].First.Equal(listed[2].Placed))
	notices, err := read.Notices(t.Context(), []core.BusinessID{c.business}, since)
	require.NoError(t, err)
	require.Equal(t, list, notices.Unnotified)

	c.subscribe(t, c.accepting)
	list, _ = unnotified()
	require.True(t, list[0].HasWebhook, "the order stays listed after a webhook was created")
	require.Equal(t, 3, list[0].Count)
	c.retry(t)
	list, listed = unnotified()
	require.Empty(t, list)
	require.Empty(t, listed)
	record, err = ordersdb.New(c.db).Get(t.Context(), c.business, "", order)
	require.NoError(t, err)
	require.False(t, record.Unnotified)
}
