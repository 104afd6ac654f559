package postgres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	customersdb "github.com/servery-hub/servery/core/internal/postgres/customers"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// canaries are parts of the personal data of customerHarness.person, in lower case.
var canaries = []string{"canary", "5559876", "123454321", "987654321"}

// customerHarness is a riderHarness whose orders have a customer.
type customerHarness struct {
	*riderHarness
	store customersdb.Store
}

func newCustomerHarness(t *testing.T) *customerHarness {
	d := newRiderHarness(t)
	return &customerHarness{d, customersdb.New(d.db)}
}

// person is the part of an order that names its customer.
func person(phone string) string {
	return fmt.Sprintf(`,"delivery_type":"self","instructions":"Ask for Canary","coupon":"CANARY10",
		"customer":{"name":"Zoë Canarybird","email":"Zoe@Canary.example","phone":%q,"address":{"line_1":"1 Canary Wharf",
		"line_2":"Canary flat","landmark":"Canary gate","city":"Canary City","sub_locality":"Canary Town",
		"pin":"CANARY","latitude":37.123454321,"longitude":-122.123454321}}`, phone)
}

const canaryPhone = "(415) 555-9876"

func (c *customerHarness) change(action string) access.Change {
	return access.Change{Business: c.business, Actor: "user:ada@example.com", Action: action, Why: "ticket 7"}
}

func (c *customerHarness) search(text string) customer.Subject {
	c.t.Helper()
	found, err := c.store.SearchCustomer(context.Background(), c.business, text, c.change("customer.search"))
	require.NoError(c.t, err)
	return found
}

func (c *customerHarness) found(text string) (ids []int64) {
	c.t.Helper()
	list, err := c.store.OrdersOfCustomer(context.Background(), c.business, c.search(text), console.OrderCursor{}, 50)
	require.NoError(c.t, err)
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}

func (c *customerHarness) erase(subject customer.Subject) {
	c.t.Helper()
	require.NoError(c.t, c.store.EraseCustomer(context.Background(), c.business, subject, c.change("customer.erase")))
	require.NoError(c.t, c.store.Erase(context.Background()))
}

func (c *customerHarness) erasures() []customer.Erasure {
	c.t.Helper()
	list, err := c.store.Erasures(context.Background(), c.business, core.ID{}, 50)
	require.NoError(c.t, err)
	return list
}

// complete ends an order and its calls.
func (c *customerHarness) complete(id int64) {
	c.t.Helper()
	pgtest.Exec(c.t, c.db, `UPDATE orders SET state = 'Completed' WHERE id = ?`, id)
	pgtest.Exec(c.t, c.db, `UPDATE calls SET state = 'done', finished_at = now() WHERE order_id = ?`, id)
	pgtest.Exec(c.t, c.db, `DELETE FROM call_queue WHERE order_id = ? AND kind <> 'rider_location'`, id)
}

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
		`INSERT INTO attempts (business_id, delivery_id, n, started_at, url, request_headers, status, error_class, error,
				response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us)
			SELECT business_id, id, 1, now(), 'http://pos.example', '{}', 200, '', 'canary', '{"X-Name":"canary"}',
				'hello canary', 0, 0, 0, 0, 0
			FROM events WHERE business_id = ? AND order_id = ?`,
		`UPDATE calls SET message = 'canary', result = '+14155559876' WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO call_attempts (business_id, call_id, order_id, n, started_at, method, url, request_headers,
				request_body, status, error_class, error, response_headers, response_body, total_us)
			SELECT business_id, placed_event, id, 1, now(), 'POST', 'http://b.example/o?phone=5559876', '{"X":"canary"}',
				'12.987654321', 200, '', 'canary', '{"X":"canary"}', 'canary', 0
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
			VALUES ('p', 'c2', 'panic', true, 'x', 1, now(), now(), '1', 'zoe@canary.example', '', 0 * ?, 'b', '' || 0 * ?)`,
		`INSERT INTO plugin_set_aside (plugin_id, build, call, business_id, platform, request, version, store, about,
				fault, at)
			VALUES ('p', 'b', 'x', ?, 'b', 'r', '1', 's1', 'order ' || ?, 'canary', now())`,
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail)
			VALUES (?, gen_random_uuid(), now(), 'user:a', 'order.action', 'order/' || ?, '{"why": "Canary called"}')`,
		`INSERT INTO audit (business_id, id, at, actor, action, object, detail)
			SELECT business_id, gen_random_uuid(), now(), 'user:a', 'delivery.retry', 'delivery/' || id,
				'{"why": "Canary called"}'
			FROM events WHERE business_id = ? AND order_id = ?`,
		`INSERT INTO problems (business_id, server, error_class, status, webhooks, first_seen_at, last_seen_at, note)
			VALUES (?, 'pos.example', 'status', 500, '{1}', now(), now(), 'zoë canarybird waits, ' || ?)`,
	} {
		pgtest.Exec(c.t, c.db, statement, args...)
	}
	pgtest.Exec(c.t, c.db, `INSERT INTO users (email, role, created_at) VALUES ('u@example.com', 'support', now())
		ON CONFLICT DO NOTHING`)
	pgtest.Exec(c.t, c.db, `INSERT INTO saved_views
			(business_id, user_id, owner, list, name, filters, shared, created_at)
			SELECT ?, id, email, 'deliveries', 'mine', 'text=Zoe%40Canary.example', true, now() FROM users`, c.business)
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
var withoutPersonalData = strings.Fields(`api_keys attempt_counts business_changes businesses cache_epochs
	callback_keys callback_nonces catalogue_entities clock_epoch customer_erasures deliveries delivery_queue
	endpoint_circuits endpoint_rates followed_resends item_switches item_timers job_queue jobs menu_links menu_versions
	order_repeats out_of_stock_reports personal_data_rules platform_aliases platform_findings platform_tokens platforms
	plugin_hubs plugins pos_presence presence_rules publications replicas retentions revision_parts revisions seal_check sessions sign_in_attempts sign_in_links store_overrides store_switches stores
	sweep_cursors throttles timed_categories timing_groups unnotified_switches unrouted_events user_grants users
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
		"rider_statuses.rider_phone", "saved_views.filters"} {
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
	require.Equal(t, amounts, amountsOf(), "amounts, items, ids and states remain")
	require.Empty(t, c.found(canaryPhone))
	list := c.erasures()
	require.Len(t, list, 1)
	require.Equal(t, 1, list[0].Erased)
	require.Zero(t, list[0].Waiting)
	require.False(t, list[0].DoneAt.IsZero())
	require.Equal(t, 1, pgtest.AuditEntries(t, c.db, "customer.erase"))
}

func TestCustomersAreFoundByPhoneEmailAndName(t *testing.T) {
	c := newCustomerHarness(t)
	first := c.order("b", person(canaryPhone))
	second := c.order("b", person("+1 415 555 9876"))
	other := c.order("b", `,"delivery_type":"self","customer":{"name":"Kim Li","phone":"2125550100"}`)
	for _, text := range []string{"4155559876", "+14155559876", "zoe@canary.EXAMPLE", "zoe canarybird", "CANARYBIRD"} {
		require.Equal(t, []int64{second, first}, c.found(text), text)
	}
	require.Equal(t, []int64{other}, c.found("kim li"))
	require.Empty(t, c.found("canary"))
	page, err := c.store.OrdersOfCustomer(context.Background(), c.business, c.search("4155559876"),
		console.OrderCursor{}, 1)
	require.NoError(t, err)
	rest, err := c.store.OrdersOfCustomer(context.Background(), c.business, c.search("4155559876"), page[0].Cursor(), 5)
	require.NoError(t, err)
	require.Equal(t, []int64{second, first}, []int64{page[0].ID, rest[0].ID})
	require.Equal(t, 9, pgtest.AuditEntries(t, c.db, "customer.search"))
	var details string
	pgtest.Row(t, c.db, &details, `SELECT string_agg(object || detail, ' ') FROM audit WHERE action = 'customer.search'`)
	for _, canary := range append(canaries, "kim", "zoe") {
		require.NotContains(t, strings.ToLower(details), canary, "the audit trail has no search text")
	}
	_, err = c.store.SearchCustomer(context.Background(), c.business, "12", c.change("customer.search"))
	require.Equal(t, core.Invalid, core.CodeOf(err))
}

func TestSearchByCustomerUsesTheIndex(t *testing.T) {
	c := newCustomerHarness(t)
	c.order("b", person(canaryPhone))
	pgtest.Exec(t, c.db, `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state,
			is_bulk_order, delivery_type, flags, events, placed_event, placed_by, created_at, updated_at, customer_hashes)
		SELECT business_id, n, platform, 'N-' || n, store_id, state, false, delivery_type, 0, 1, placed_event, '',
			created_at, updated_at, ARRAY[n, n + 1000000, n % 10]
		FROM orders, generate_series(1000000, 1020000) n`)
	pgtest.Exec(t, c.db, `ANALYZE orders`)
	plan := pgtest.Plan(t, c.db, "found AS MATERIALIZED", func() { require.Len(t, c.found(canaryPhone), 1) })
	require.Contains(t, plan, "orders_by_customer")
	require.NotContains(t, plan, "Seq Scan on orders")
}

func TestUnfinishedOrdersAreErasedOnceTheyEnd(t *testing.T) {
	c := newCustomerHarness(t)
	ended, open := c.order("b", person(canaryPhone)), c.order("b", person(canaryPhone))
	c.complete(ended)
	extent, err := c.store.CustomerExtent(context.Background(), c.business, c.search(canaryPhone))
	require.NoError(t, err)
	require.Equal(t, customer.Extent{Orders: 2, Unfinished: 1}, extent)
	c.erase(c.search(canaryPhone))
	require.Equal(t, []int64{open}, c.found(canaryPhone))
	require.Equal(t, 1, c.erasures()[0].Erased)
	require.Equal(t, 1, c.erasures()[0].Waiting)
	require.True(t, c.erasures()[0].DoneAt.IsZero())

	c.clock.Advance(time.Second)
	later := c.order("b", person(canaryPhone))
	c.complete(later)
	c.complete(open)
	require.NoError(t, c.store.Erase(context.Background()))
	require.Equal(t, []int64{later}, c.found(canaryPhone), "orders after the request remain")
	require.Equal(t, 2, c.erasures()[0].Erased)
	require.False(t, c.erasures()[0].DoneAt.IsZero())
}

func TestInterruptedErasureContinues(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	c := newCustomerHarnessAt(t, address)
	var ids []int64
	for range 3 {
		ids = append(ids, c.order("b", person(canaryPhone)))
		c.complete(ids[len(ids)-1])
	}
	pgtest.Exec(t, c.db, `INSERT INTO customer_erasures (business_id, id, kind, hash, order_id, actor, requested_at)
		VALUES (?, ?, 'phone', ?, 0, 'user:a', ?)`, c.business, core.NewID(c.clock.Now()),
		c.search(canaryPhone).Hash, c.clock.Now())
	for n := 1; ; n++ {
		other := hubtest.Connect(t, address, c.clock)
		broken := pgtest.BreakAt(other, n)
		err := customersdb.New(other).Erase(context.Background())
		if !broken() {
			require.NoError(t, err)
			break
		}
	}
	require.Empty(t, leaks(t, c.db))
	require.Equal(t, 3, c.erasures()[0].Erased)
}

func newCustomerHarnessAt(t *testing.T, address string) *customerHarness {
	d := newRiderHarnessOn(t, address)
	return &customerHarness{d, customersdb.New(d.db)}
}

func TestErasureIsLimitedToItsBusiness(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	c.complete(id)
	mine := c.search(canaryPhone)
	other := newMenuHarness(t, c.db, "US")
	ctx := context.Background()
	theirs, err := c.store.SearchCustomer(ctx, other.business, canaryPhone,
		access.Change{Business: other.business, Actor: "user:b", Action: "customer.search"})
	require.NoError(t, err)
	require.NotEqual(t, mine, theirs, "each business has its own key")
	change := access.Change{Business: other.business, Actor: "user:b", Action: "customer.erase"}
	for _, subject := range []customer.Subject{mine, theirs, customer.OfOrder(id)} {
		list, err := c.store.OrdersOfCustomer(ctx, other.business, subject, console.OrderCursor{}, 5)
		require.NoError(t, err)
		require.Empty(t, list)
		require.Equal(t, core.NotFound, core.CodeOf(c.store.EraseCustomer(ctx, other.business, subject, change)))
		ids, err := c.store.ExportCustomer(ctx, other.business, subject, change)
		require.NoError(t, err)
		require.Empty(t, ids)
	}
	_, err = c.store.ExportOrder(ctx, other.business, id)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	require.Equal(t, []int64{id}, c.found(canaryPhone))
	require.Equal(t, core.Invalid, core.CodeOf(c.store.EraseCustomer(ctx, c.business, c.search("canarybird"), change)),
		"a name may be that of many")
}

func TestExportHasEverythingAboutAnOrder(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	c.fill(id)
	ids, err := c.store.ExportCustomer(context.Background(), c.business, c.search(canaryPhone),
		c.change("customer.export"))
	require.NoError(t, err)
	require.Equal(t, []int64{id}, ids)
	export, err := c.store.ExportOrder(context.Background(), c.business, id)
	require.NoError(t, err)
	encoded, err := json.Marshal(map[string]any{"order": export.PlatformOrderID, "events": len(export.Events)})
	require.NoError(t, err)
	require.JSONEq(t, `{"order":"R-1","events":3}`, string(encoded))
	require.Contains(t, string(export.Events[0].Body), "Zoë Canarybird")
	require.Contains(t, string(export.Events[0].SentTo), "http://pos.example")
	require.Contains(t, string(export.States), "Call Canary")
	require.Contains(t, string(export.Riders), "Canary Rider")
	require.Contains(t, string(export.Calls), "rider_status")
	require.Contains(t, string(export.RiderLocations), "12.987654321")
	require.Equal(t, 1, pgtest.AuditEntries(t, c.db, "customer.export"))
}

func TestRetentionErasesOldOrdersOfTheBusiness(t *testing.T) {
	c := newCustomerHarness(t)
	ctx := context.Background()
	ended, open := c.order("b", person(canaryPhone)), c.order("b", person(canaryPhone))
	c.complete(ended)
	require.NoError(t, c.send(open, order.Assigned, order.Rider{Name: "Canary Rider"}))
	c.clock.Advance(31 * 24 * time.Hour)
	young := c.order("b", person(canaryPhone))
	c.complete(young)
	require.NoError(t, c.store.Sweep(ctx))
	require.Len(t, c.found(canaryPhone), 3, "it is off")

	change := c.change("business.personal_data")
	require.NoError(t, c.store.SetPersonalDataRetention(ctx, c.business, 0, 30, change))
	require.Equal(t, core.Conflict, core.CodeOf(c.store.SetPersonalDataRetention(ctx, c.business, 0, 60, change)))
	keep, err := c.store.PersonalDataRetention(ctx, c.business)
	require.NoError(t, err)
	require.Equal(t, customer.Retention(30), keep)
	require.Equal(t, 1, pgtest.AuditEntries(t, c.db, "business.personal_data"))
	require.NoError(t, c.store.Sweep(ctx))
	require.NoError(t, c.store.Sweep(ctx))
	require.Equal(t, []int64{young, open}, c.found(canaryPhone))
	require.Len(t, c.erasures(), 1, "the unfinished one")
	c.complete(open)
	require.NoError(t, c.store.Erase(ctx))
	require.Equal(t, []int64{young}, c.found(canaryPhone))
	require.Equal(t, core.NotFound,
		core.CodeOf(c.store.SetPersonalDataRetention(ctx, 999, 0, 30, access.Change{Business: 999})))
}
