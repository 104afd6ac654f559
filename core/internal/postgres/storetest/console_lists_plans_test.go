package storetest

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

// idOfRow is the id of row n: a UUID of version 7, created n milliseconds after a day before now.
const idOfRow = `(lpad(to_hex((extract(epoch FROM date_trunc('day', now()))::bigint - 86400) * 1000 + n), 12, '0') ||
	'70008' || lpad(to_hex(n), 15, '0'))::uuid`

// listRows insert rows of lists, of one business. Every hundredth delivery has failed, and every tenth call.
var listRows = map[string]string{
	"deliveries": `INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts,
			status, finished_at)
		SELECT ?0, ` + idOfRow + `, ` + idOfRow + `, 'order_placed', n % 7, '', CASE WHEN n % 100 = 0 THEN 'failed'
			ELSE 'delivered' END, 1, CASE WHEN n % 100 = 0 THEN 503 ELSE 200 END,
			now() - interval '1 day' + n * interval '1 ms' FROM`,
	"calls": `INSERT INTO calls (business_id, id, ordering_key, kind, platform, order_id, payload, actor, state,
			created_at, finished_at)
		SELECT ?0, ` + idOfRow + `, CASE WHEN n % 4 = 3 THEN 'store:a/' || n ELSE 'order:' || n / 4 * 4 END,
			CASE WHEN n % 4 = 3 THEN 'store_action' ELSE 'order_status' END, 'a', CASE WHEN n % 4 = 3 THEN 0
			WHEN n = 40 THEN 36 ELSE n / 4 * 4 END, '{}', 'hub', CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'done' END,
			now() - interval '1 day' + n * interval '1 ms', now() - interval '1 day' + n / 20 * interval '20 ms' FROM`,
	"jobs": `INSERT INTO jobs (business_id, id, kind, state, body, created_at)
		SELECT ?0, ` + idOfRow + `, 'menu', 'done', '', now() FROM`,
	"audit": `INSERT INTO audit (business_id, id, at, actor, action, object)
		SELECT ?0, ` + idOfRow + `, now(), 'hub', 'a', 'store/' || n FROM`,
	"orders": `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state, is_bulk_order,
			delivery_type, flags, events, placed_event, placed_by, created_at, updated_at)
		SELECT ?0, n, 'a', 'A-' || n, 1, 'Placed', false, 'self', 0, 1, ` + idOfRow + `, 'pos',
			now() - interval '1 day' + n * interval '1 ms', now() FROM`,
}

// A list has listedRows rows, and that of deliveries, whose matches are counted, listedDeliveries. A node of a plan may
// read maxPlanRows of them.
const (
	listedRows       = 40_000
	listedDeliveries = 3 * listedRows
	maxPlanRows      = 25_000
)

var planRows = regexp.MustCompile(`rows=(\d+)(?:\.\d+)? loops|Rows Removed by Filter: (\d+)`)

// TestConsoleListsUseIndexesInEachOrder reads each list in each order among listedRows rows of a business.
func TestConsoleListsUseIndexesInEachOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("it inserts many rows")
	}
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	pgtest.Exec(t, db, unchecked)
	pgtest.Exec(t, db, `INSERT INTO stores (business_id, id, ref_id, city, name, hide_from_ui, active,
		ordering_enabled, timings, created_at, updated_at)
		VALUES (?, 1, 'S-1', 'C', 'One', false, true, true, '[]', now(), now())`, business)
	for table, fill := range listRows {
		rows := listedRows
		if table == "deliveries" {
			rows = listedDeliveries
		}
		pgtest.Exec(t, db, fill+fmt.Sprintf(" generate_series(1, %d) n", rows), business)
		pgtest.Exec(t, db, "ANALYZE "+table)
	}
	var log statementLog
	log.listen(db)
	readLists(t, consolelists.New(db), deliveries.New(db), business)
	_, err := consoleview.New(db).FailureWeek(t.Context(), business)
	require.NoError(t, err)
	require.Greater(t, len(log.statements), 40)
	for _, one := range log.statements {
		setup, query := "", one.text
		if at := strings.Index(query, "SELECT"); strings.HasPrefix(query, "SET LOCAL") {
			setup, query = query[:at], query[at:]
		}
		if !strings.HasPrefix(query, "SELECT") || strings.Contains(query, "pg_roles") {
			continue
		}
		var lines []string
		require.NoError(t, db.Bun().NewRaw(setup+"EXPLAIN (ANALYZE, TIMING off) "+query).Scan(context.Background(),
			&lines), query)
		plan := strings.Join(lines, "\n")
		require.Regexp(t, planRows, plan, query)
		require.NotRegexp(t, `Seq Scan on (audit|calls|deliveries_\w+|jobs|orders)\b.*rows=[1-9]\d{3}`, plan, query)
		for _, match := range planRows.FindAllStringSubmatch(plan, -1) {
			rows, err := strconv.Atoi(match[1] + match[2])
			require.NoError(t, err)
			require.LessOrEqual(t, rows, maxPlanRows, "%s\n%s", query, plan)
		}
	}
}

// readLists reads the first page of each list in each order, and a page in its middle.
func readLists(t *testing.T, read consolelists.Store, history deliveries.Store, business core.BusinessID) {
	ctx := t.Context()
	from := time.Now().Add(-7 * 24 * time.Hour)
	for _, sort := range []webhook.Sort{webhook.NewestFirst, webhook.OldestFirst, webhook.LatestFailure,
		webhook.FirstFailureFirst} {
		f := webhook.Filter{Sort: sort, OfFailure: sort.ByFailure(), From: from, Limit: 51}
		page, err := history.List(ctx, business, f)
		require.NoError(t, err)
		require.Len(t, page, 51)
		_, err = history.List(ctx, business, f.After(page[50]))
		require.NoError(t, err)
		calls := console.CallFilter{Sort: sort, OfFailure: sort.ByFailure(), From: from, Limit: 51}
		rows, err := read.ListCalls(ctx, business, calls)
		require.NoError(t, err)
		require.Len(t, rows, 51)
		_, err = read.ListCalls(ctx, business, calls.After(rows[50]))
		require.NoError(t, err)
	}
	for _, oldest := range []bool{false, true} {
		orders := console.OrderFilter{Oldest: oldest, From: from, Limit: 51}
		page, err := read.ListOrders(ctx, business, orders)
		require.NoError(t, err)
		require.Len(t, page, 51)
		orders.Before = page[50].Cursor()
		_, err = read.ListOrders(ctx, business, orders)
		require.NoError(t, err)
		jobs := console.JobFilter{Oldest: oldest, From: from, Limit: 51}
		list, err := read.ListJobs(ctx, business, jobs)
		require.NoError(t, err)
		jobs.Before = list[50].Reference
		_, err = read.ListJobs(ctx, business, jobs)
		require.NoError(t, err)
		_, err = read.ListJobs(ctx, business, console.JobFilter{Oldest: oldest, State: console.WithFailures, Limit: 51})
		require.NoError(t, err)
		entries := console.EntryFilter{Oldest: oldest, From: from, Limit: 51}
		trail, err := read.Audit(ctx, business, entries)
		require.NoError(t, err)
		entries.Before = trail[50].ID
		_, err = read.Audit(ctx, business, entries)
		require.NoError(t, err)
	}
	_, p, err := read.SearchDeliveries(ctx, business, webhook.Filter{From: from, Limit: 50}, "nothing of it")
	require.NoError(t, err)
	require.Positive(t, p.Searched)
	_, _, err = read.SearchCalls(ctx, business, console.CallFilter{From: from, Limit: 50, Text: "nothing of it"})
	require.NoError(t, err)
	for _, state := range []webhook.State{webhook.Failed, webhook.Delivered} {
		_, _, err = history.CountUpTo(ctx, business, webhook.Selector{State: state, EventType: core.OrderStatusUpdate,
			To: time.Now(), EndedBy: time.Now()})
		require.NoError(t, err)
		_, _, err = history.CountUpTo(ctx, business, webhook.Selector{State: state, To: time.Now(),
			EndedBy: time.Now(), FinalOrders: webhook.OnlyFinalOrders})
		require.NoError(t, err)
	}
}
