package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/customer"
	"github.com/servery-hub/servery/core/internal/hubtest"
	customersdb "github.com/servery-hub/servery/core/internal/postgres/customers"
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
		"customer":{"name":"Zoë Canarybird","email":"Zoe@Canary.example","phone":%q,"address":{
		"line_1":"1 Canary Wharf","line_2":"Canary flat","landmark":"Canary gate","city":"Canary City",
		"sub_locality":"Canary Town",
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
	require.NoError(c.t,
		c.store.EraseCustomer(context.Background(), c.business, subject, c.change("customer.erase")))
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

func TestCustomersAreFoundByPhoneEmailAndName(t *testing.T) {
	c := newCustomerHarness(t)
	first := c.order("b", person(canaryPhone))
	second := c.order("b", person("+1 415 555 9876"))
	other := c.order("b", `,"delivery_type":"self","customer":{"name":"Kim Li","phone":"2125550100"}`)
	for _, text := range []string{"4155559876", "+14155559876", "zoe@canary.EXAMPLE", "zoe canarybird",
		"CANARYBIRD"} {
		require.Equal(t, []int64{second, first}, c.found(text), text)
	}
	require.Equal(t, []int64{other}, c.found("kim li"))
	require.Empty(t, c.found("canary"))
	page, err := c.store.OrdersOfCustomer(context.Background(), c.business, c.search("4155559876"),
		console.OrderCursor{}, 1)
	require.NoError(t, err)
	rest, err := c.store.OrdersOfCustomer(context.Background(), c.business, c.search("4155559876"), page[0].Cursor(),
		5)
	require.NoError(t, err)
	require.Equal(t, []int64{second, first}, []int64{page[0].ID, rest[0].ID})
	require.Equal(t, 9, pgtest.AuditEntries(t, c.db, "customer.search"))
	var details string
	pgtest.Row(t, c.db, &details,
		`SELECT string_agg(object || detail, ' ') FROM audit WHERE action = 'customer.search'`)
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
			is_bulk_order, delivery_type, flags, events, placed_event, placed_by, created_at, updated_at,
			customer_hashes)
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
	c.clock.Advance(time.Minute)
	require.NoError(t, c.store.Erase(context.Background()))
	require.Equal(t, []int64{later}, c.found(canaryPhone), "orders after the request remain")
	require.Equal(t, 2, c.erasures()[0].Erased)
	require.False(t, c.erasures()[0].DoneAt.IsZero())
}

// A call that is queued while an erasure waits for the order's lock must still be sent.
func TestErasureChecksOrdersAgainOnceLocked(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	require.NoError(t, c.send(id, order.Assigned, order.Rider{Name: "Sam"}))
	c.complete(id)
	var payload, after string
	pgtest.Row(t, c.db, &payload, `SELECT string_agg(payload, '' ORDER BY id) FROM calls WHERE order_id = ?`, id)
	erased := make(chan error, 1)
	require.NoError(t, c.db.InTx(t.Context(), func(tx bun.Conn) error {
		if _, err := tx.ExecContext(t.Context(), `SELECT FROM orders WHERE id = ? FOR UPDATE`, id); err != nil {
			return err
		}
		change := c.change("customer.erase")
		go func() {
			erased <- c.store.EraseCustomer(context.Background(), c.business, customer.OfOrder(id), change)
		}()
		hubtest.WaitUntil(t, "the erasure waits", func() bool { return pgtest.HasWaiters(t, c.db) })
		_, err := tx.ExecContext(t.Context(),
			`UPDATE calls SET state = 'waiting', finished_at = NULL WHERE order_id = ?`, id)
		return err
	}))
	require.NoError(t, <-erased)
	pgtest.Row(t, c.db, &after, `SELECT string_agg(payload, '' ORDER BY id) FROM calls WHERE order_id = ?`, id)
	require.Equal(t, payload, after)
	require.Equal(t, []int64{id}, c.found(canaryPhone))
	require.True(t, c.erasures()[0].DoneAt.IsZero())
	c.complete(id)
	c.clock.Advance(time.Minute)
	require.NoError(t, c.store.Erase(context.Background()))
	require.Empty(t, c.found(canaryPhone))
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

func TestDataAfterAnErasureIsErasedOnRequest(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	c.complete(id)
	c.erase(c.search(canaryPhone))
	pgtest.Exec(t, c.db, `INSERT INTO order_states (business_id, order_id, n, state, at, message, reason_code,
			actor)
		VALUES (?, ?, 100, 'Completed', now(), 'Canary called', '', 'key:pos')`, c.business, id)
	require.Equal(t, []string{"order_states.message"}, leaks(t, c.db))
	c.erase(customer.OfOrder(id))
	require.Empty(t, leaks(t, c.db))
}

func TestErasureIncludesOrdersCommittedAfterItsRun(t *testing.T) {
	c := newCustomerHarness(t)
	first, late := c.order("b", person(canaryPhone)), c.order("b", person(canaryPhone))
	c.complete(first)
	c.complete(late)
	subject := c.search(canaryPhone)
	pgtest.Exec(t, c.db, `UPDATE orders SET customer_hashes = '{}' WHERE id = ?`, late) // as if not committed
	c.erase(subject)
	pgtest.Exec(t, c.db, `UPDATE orders SET customer_hashes = ARRAY[?::bigint] WHERE id = ?`, subject.Hash, late)
	c.clock.Advance(time.Minute)
	require.NoError(t, c.store.Erase(context.Background()))
	require.Equal(t, 2, c.erasures()[0].Erased)
	require.False(t, c.erasures()[0].DoneAt.IsZero())
	require.Empty(t, leaks(t, c.db))
}

func TestErasureKeepsNewQueuedCalls(t *testing.T) {
	c := newCustomerHarness(t)
	id := c.order("b", person(canaryPhone))
	require.NoError(t, c.place(id, "12.987654321"))
	c.complete(id)
	pgtest.Exec(t, c.db, `INSERT INTO call_queue (business_id, ordering_key, kind, platform, order_id, endpoint,
			call_id, received_at, due_at, available_at)
		VALUES (?, 'order:new', 'order_status', 'b', ?, 1, gen_random_uuid(), now(), now(), now())`, c.business, id)
	c.erase(customer.OfOrder(id))
	var kinds string
	pgtest.Row(t, c.db, &kinds, `SELECT string_agg(kind, ',') FROM call_queue`)
	require.Equal(t, "order_status", kinds)
}
