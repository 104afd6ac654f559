package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// fill stores personal data of an order in every table that may have some.
func (c *customerHarness) fill(id int64) {
	c.t.Helper()
	ctx := context.Background()
	_, err := ordersdb.New(c.db).Change(ctx, c.business, id, order.Change{To: order.Acknowledged, Actor: "key:pos",
		Message: "Call Canary on 5559876"})
	require.NoError(c.t, err)
	require.NoError(c.t, c.send(id, order.Assigned, order.Rider{Name: "Canary Rider", Phone: "+14155559876"}))
	require.NoError(c.t, c.place(id, "12.987654321"))
	args := []any{c.business, id}
	for _, statement := range []string{
		`INSERT INTO deliveries
			(business_id, id, event_id, event_type, webhook_id, url, state, attempts, status, finished_at)
			SELECT business_id, id, id, event_type, 1, 'http://pos.example', 'delivered', 1, 200, now() FROM events
			WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO attempts (business_id, delivery_id, n, started_at, url, request_headers, status, error_class,
				error, response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us)
			SELECT business_id, id, 1, now(), 'http://pos.example', '{}', 200, '', 'canary', '{"X-Name":"canary"}',
				'hello canary', 0, 0, 0, 0, 0
			FROM events WHERE business_id = ? AND order_id = ?`,
		`UPDATE calls SET message = 'canary', result = '+14155559876' WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO call_attempts (business_id, call_id, order_id, n, started_at, method, url, request_headers,
				request_body, status, error_class, error, response_headers, response_body, total_us)
			SELECT business_id, placed_event, id, 1, now(), 'POST', 'http://b.example/o?phone=5559876',
				'{"X":"canary"}', '12.987654321', 200, '', 'canary', '{"X":"canary"}', 'canary', 0
			FROM orders WHERE business_id = ? AND id = ?`,
		`INSERT INTO pending_cancellations (business_id, platform, platform_order_id, reason, at)
			SELECT business_id, platform, platform_order_id, 'canary', now() FROM orders
			WHERE business_id = ? AND id = ?`,
		`INSERT INTO rejected_orders (business_id, platform, platform_order_id, store, reason, hub_fault, rejections,
				first_at, last_at)
			SELECT business_id, platform, platform_order_id, 's1', 'canary', false, 1, now(), now() FROM orders
			WHERE business_id = ? AND id = ?`,
		`INSERT INTO rejected_orders (business_id, platform, platform_order_id, store, reason, hub_fault, rejections,
				first_at, last_at)
			VALUES (?, 'b', 'other-' || ?, 's1', 'the name "Zoë Canarybird" is too long', false, 1, now(), now())`,
		`INSERT INTO plugin_faults (plugin_id, cause, kind, ended, call, count, first_at, last_at, version, text, stack,
				business_id, platform, about)
			VALUES ('p', 'c1', 'panic', true, 'x', 1, now(), now(), '1', 'canary', 'canary', ?, 'b',
				'order ' || ? || ', relay')`,
		`INSERT INTO plugin_faults (plugin_id, cause, kind, ended, call, count, first_at, last_at, version, text, stack,
				business_id, platform, about)
			VALUES ('p', 'c2', 'panic', true, 'x', 1, now(), now(), '1', 'zoe@canary.example', '', 0 * ?, 'b',
				'' || 0 * ?)`,
		`INSERT INTO plugin_set_aside (plugin_id, build, call, business_id, platform, request, version, store, about,
				fault, at)
			VALUES ('p', 'b', 'x', ?, 'b', 'r', '1', 's1', 'order ' || ?, 'canary', now())`,
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail)
			VALUES (?, gen_random_uuid(), now(), 'user:a', 'order.action', 'order/' || ?, '{"why": "Canary called"}')`,
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail)
			SELECT business_id, gen_random_uuid(), now(), 'user:a', 'delivery.retry', 'delivery/' || id,
				'{"why": "Canary called"}'
			FROM events WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO order_repeats (business_id, order_id, differences, actor, times, first_at, last_at)
			VALUES (?, ?, 'coupon CANARY10', 'key:pos', 1, now(), now())`,
		`INSERT INTO order_follow_ups (business_id, order_id, kind, note, actor, at)
			VALUES (?, ?, 'courier', 'Zoë Canarybird is no courier', 'platform:b', now())`,
		`INSERT INTO order_revisions (business_id, order_id, change_id, event_id, reason, note, changes, actor, at)
			VALUES (?, ?, 'c-1', NULL, 'Zoë Canarybird called', 'canary', '{}', 'platform:b', now())`,
		`INSERT INTO pending_follow_ups (business_id, platform, platform_order_id, id, content, at)
			SELECT business_id, platform, platform_order_id, gen_random_uuid(), '{"name":"Zoë Canarybird"}', now()
			FROM orders WHERE business_id = ? AND id = ?`,
		`UPDATE rider_statuses SET location = '{"latitude":"37.canary"}' WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail)
			VALUES (?, gen_random_uuid(), now(), 'user:a', 'problem.note', 'problem/1' || ?,
				'{"why": "call (415) 555-9876"}')`,
		`INSERT INTO problems (business_id, server, error_class, status, webhooks, first_seen_at, last_seen_at, note)
			VALUES (?, 'pos.example', 'status', 500, '{1}', now(), now(), 'zoë canarybird waits, ' || ?)`,
	} {
		pgtest.Exec(c.t, c.db, statement, args...)
	}
	pgtest.Exec(c.t, c.db, `INSERT INTO users (email, role, created_at) VALUES ('u@example.com', 'support', now())
		ON CONFLICT DO NOTHING`)
	pgtest.Exec(c.t, c.db, `INSERT INTO saved_views
			(business_id, user_id, owner, list, name, filters, shared, created_at)
			SELECT ?, id, email, 'deliveries', 'Zoë Canarybird', 'text=Zoe%40Canary.example', true, now() FROM users`,
		c.business)
}

// leaks returns the columns of all tables in which a canary is found, also in compressed bodies.
func leaks(t *testing.T, db *postgres.DB) (found []string) {
	t.Helper()
	ctx := context.Background()
	type column struct{ Table, Name, Type string }
	var columns []column
	require.NoError(t, db.Bun().NewRaw(`SELECT c.relname AS "table", a.attname AS name,
			format_type(a.atttypid, NULL) AS type
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND format_type(a.atttypid, NULL) IN ('text', 'text[]', 'json', 'jsonb', 'bytea')`).Scan(ctx, &columns))
	require.Greater(t, len(columns), 150)
	for _, c := range columns {
		text := "convert_to(" + c.Name + "::text, 'UTF8')"
		if c.Type == "bytea" {
			text = c.Name
		}
		var values [][]byte
		require.NoError(t, db.Bun().NewRaw(`SELECT `+text+` FROM "`+c.Table+`" WHERE `+c.Name+` IS NOT NULL`).
			Scan(ctx, &values))
		for _, value := range values {
			if plain, err := db.Decompress(value); err == nil {
				value = plain
			}
			if slices.ContainsFunc(canaries, func(canary string) bool {
				return bytes.Contains(bytes.ToLower(value), []byte(canary))
			}) {
				found = append(found, c.Table+"."+c.Name)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// withoutPersonalData are the tables that never have personal data of customers. Those of users and stores have data of
// the staff.
var withoutPersonalData = strings.Fields(`api_keys attempt_counts business_changes businesses
	cache_epochs callback_keys callback_nonces catalogue_entities clock_epoch customer_erasures deliveries
	delivery_queue endpoint_circuits endpoint_rates followed_resends item_switches item_timers job_queue jobs
	menu_links menu_versions out_of_stock_reports outcome_tasks personal_data_rules platform_aliases
	platform_findings platform_tokens platform_values platforms plugin_hubs plugin_shared plugins polls
	pos_presence presence_rules publications replicas retentions revision_parts revisions seal_check
	sent_menus sessions sign_in_attempts sign_in_links store_overrides store_reports store_switches store_workloads
	stores sweep_cursors throttles timed_categories timing_groups unnotified_switches unrouted_events user_grants users
	webhook_health webhooks`)

// A new table must be erased and filled by customerHarness.fill, or listed as one without personal data.
func TestEveryTableIsErasedOrListed(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	c.fill(id)
	var tables []string
	require.NoError(t, c.db.Bun().NewRaw(`SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')
		AND relnamespace = current_schema()::regnamespace AND NOT relispartition`).Scan(context.Background(), &tables))
	erased := map[string]bool{"orders": true} // its customer_hashes
	for _, column := range leaks(t, c.db) {
		table, _, _ := strings.Cut(column, ".")
		erased[table] = true
	}
	for _, table := range tables {
		if !strings.HasPrefix(table, "bun_") && !erased[table] && !slices.Contains(withoutPersonalData, table) {
			t.Errorf("%s may have personal data: erase it, or list it", table)
		}
	}
	for _, table := range withoutPersonalData {
		require.False(t, erased[table], table)
		require.Contains(t, tables, table)
	}
}

func TestErasureLeavesNoCanaryInAnyTable(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	c.fill(id)
	c.complete(id)
	before := leaks(t, c.db)
	for _, column := range []string{"attempts.error", "attempts.response_body", "attempts.response_headers",
		"audit.detail", "call_attempts.request_body", "call_attempts.request_headers", "call_attempts.response_body",
		"call_attempts.url", "call_queue.payload", "calls.message", "calls.payload", "calls.result", "events.body",
		"order_states.message", "pending_cancellations.reason", "plugin_faults.stack", "plugin_faults.text",
		"plugin_set_aside.fault", "problems.note", "rejected_orders.reason", "rider_statuses.rider_name",
		"rider_statuses.rider_phone", "saved_views.filters", "saved_views.name", "order_repeats.differences",
		"order_follow_ups.note", "order_revisions.reason",
		"order_revisions.note", "pending_follow_ups.content", "rider_statuses.location"} {
		require.Contains(t, before, column, "the test stores it")
	}
	var amounts string
	amountsOf := func() (text string) {
		record, err := ordersdb.New(c.db).Get(context.Background(), c.business, "", id)
		require.NoError(t, err)
		api, err := record.ToAPI()
		require.NoError(t, err)
		return fmt.Sprint(api.Order.Details.ID, api.Order.Details.Total, api.Order.Details.Payable,
			api.Order.Items[0].RefID, api.Order.Items[0].Title, api.Order.Items[0].Total, api.State,
			api.Order.Details.Platforms[0].ID, len(api.History))
	}
	amounts = amountsOf()
	c.erase(c.search(canaryPhone))
	require.Empty(t, leaks(t, c.db))
	var kept int
	pgtest.Row(t, c.db, &kept, `SELECT count(*) FROM rejected_orders`)
	require.Equal(t, 2, kept, "each rejection remains on record")
	var reason string
	pgtest.Row(t, c.db, &reason, `SELECT reason FROM rejected_orders WHERE reason <> ''`)
	require.Equal(t, `the name "(erased)" is too long`, reason)
	require.Equal(t, amounts, amountsOf(), "amounts, items, ids and states remain")
	require.Empty(t, c.found(canaryPhone))
	list := c.erasures()
	require.Len(t, list, 1)
	require.Equal(t, 1, list[0].Erased)
	require.Zero(t, list[0].Waiting)
	require.True(t, list[0].DoneAt.IsZero(), "an order placed before the request may still be committed")
	c.clock.Advance(time.Minute)
	require.NoError(t, c.store.Erase(context.Background()))
	list = c.erasures()
	require.Equal(t, 1, list[0].Erased)
	require.False(t, list[0].DoneAt.IsZero())
	require.Equal(t, 1, pgtest.AuditEntries(t, c.db, "customer.erase"))
}
