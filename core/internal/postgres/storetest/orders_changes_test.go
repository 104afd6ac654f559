package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// changeHarness is a riderHarness whose orders change their states in batches.
type changeHarness struct {
	*riderHarness
	store ordersdb.Store
}

func newChangeHarness(t *testing.T) *changeHarness {
	d := newRiderHarness(t)
	return &changeHarness{d, ordersdb.New(d.db)}
}

// to is a request to move an order to a state.
func (c *changeHarness) to(id int64, state order.State) ordersdb.ChangeRequest {
	return ordersdb.ChangeRequest{Business: c.business, OrderID: id,
		Change: order.Change{To: state, Actor: "key:pos"}}
}

// states are those of an order after Placed.
func (c *changeHarness) states(id int64) []order.State {
	c.t.Helper()
	record, err := c.store.Get(context.Background(), c.business, "", id)
	require.NoError(c.t, err)
	states := []order.State{}
	for _, step := range record.History[1:] {
		states = append(states, step.State)
	}
	require.Equal(c.t, append([]order.State{order.Placed}, states...)[len(states)], record.State)
	return states
}

// moves are the states before and after, of the order_status_update events by id.
func (c *changeHarness) moves() (list []string) {
	c.t.Helper()
	for _, body := range pgtest.EventBodies(c.t, c.db, core.OrderStatusUpdate) {
		var event struct {
			ID   int64  `json:"order_id"`
			From string `json:"prev_state"`
			To   string `json:"new_state"`
		}
		require.NoError(c.t, json.Unmarshal(body, &event))
		list = append(list, fmt.Sprintf("%d %s-%s", event.ID, event.From, event.To))
	}
	return list
}

func TestRejectedChangeFailsAloneInItsBatch(t *testing.T) {
	c := newChangeHarness(t)
	first, second := c.order("web", ""), c.order("web", "")
	foreign := newMenuHarness(t, c.db, "IN")
	ofOther, ofPlatform, invalid := c.to(first, order.Cancelled), c.to(second, order.Cancelled),
		c.to(second, order.FoodReady)
	minutes := int64(1 << 40) // more than the column holds
	ofOther.Business, ofPlatform.Platform, invalid.PrepMinutes = foreign.business, "b", &minutes
	requests := []ordersdb.ChangeRequest{
		c.to(first, order.Acknowledged), ofOther, c.to(99, order.Completed), invalid, c.to(first, order.Acknowledged),
		c.to(first, order.Completed), c.to(first, order.Cancelled), ofPlatform, c.to(second, order.Dispatched),
	}
	require.Equal(t, []core.Code{"", core.NotFound, core.NotFound, core.Internal, "", "", core.Conflict,
		core.NotFound, ""}, pgtest.ChangeBatch(c.store, requests...))
	require.Equal(t, []order.State{order.Acknowledged, order.Completed}, c.states(first))
	require.Equal(t, []order.State{order.Dispatched}, c.states(second))
	require.ElementsMatch(t, []string{fmt.Sprintf("%d Placed-Acknowledged", first),
		fmt.Sprintf("%d Acknowledged-Completed", first), fmt.Sprintf("%d Placed-Dispatched", second)}, c.moves())
}

func TestChangesOfOneBatchKeepTheirOrder(t *testing.T) {
	c := newChangeHarness(t)
	hubtest.Subscribe(t, c.db, c.business, core.OrderStatusUpdate, "https://pos.example.com/")
	id := c.order("b", "")
	minutes := int64(20)
	accepted := c.to(id, order.Acknowledged)
	accepted.PrepMinutes = &minutes
	require.Equal(t, []core.Code{"", "", "", ""}, pgtest.ChangeBatch(c.store, accepted, accepted,
		c.to(id, order.FoodReady), c.to(id, order.Dispatched)))
	require.Equal(t, []order.State{order.Acknowledged, order.FoodReady, order.Dispatched}, c.states(id),
		"the same preparation time again changes nothing")
	var sequences string
	pgtest.Row(t, c.db, &sequences, `SELECT string_agg(sequence || ' ' || event_type, ', ' ORDER BY sequence)
		FROM delivery_queue WHERE ordering_key = ?`, id)
	require.Equal(t, "2 order_status_update, 3 order_status_update, 4 order_status_update", sequences)
	_, claimed := claimAll(t, c.db)
	require.Len(t, claimed, 1)
	require.Contains(t, string(claimed[0].Body), `"new_state":"Acknowledged"`)
	var calls string
	pgtest.Row(t, c.db, &calls, `SELECT string_agg(kind || ' ' || payload::text, ', ' ORDER BY sequence)
		FROM calls`)
	require.Regexp(t, `^order_acknowledge .*true.*, order_status .*Food Ready.*, order_status .*Dispatched`, calls)
	require.Equal(t, []core.Code{""}, pgtest.ChangeBatch(c.store, c.to(id, order.Completed)))
	pgtest.Row(t, c.db, &sequences, `SELECT events::text FROM orders WHERE id = ?`, id)
	require.Equal(t, "5", sequences)
}

func TestBatchOfChangesTakesSixStatements(t *testing.T) {
	c := newChangeHarness(t)
	hubtest.Subscribe(t, c.db, c.business, core.OrderStatusUpdate, "https://pos.example.com/")
	var warm, requests []ordersdb.ChangeRequest
	for range 40 {
		id := c.order("web", "")
		warm, requests = append(warm, c.to(id, order.FoodReady)), append(requests, c.to(id, order.Dispatched))
	}
	pgtest.ChangeBatch(c.store, warm...)
	statements := pgtest.Statements(c.db)
	for _, code := range pgtest.ChangeBatch(c.store, requests...) {
		require.Empty(t, code)
	}
	require.Equal(t, 6, statements(), "BEGIN, lock, change, find earlier deliveries, publish, COMMIT")
}

func TestBatchOfChangesIsAtomicDespiteACrash(t *testing.T) {
	c := newChangeHarness(t)
	hubtest.Subscribe(t, c.db, c.business, core.OrderStatusUpdate, "https://pos.example.com/")
	for n := 1; ; n++ {
		first, second := c.order("b", ""), c.order("web", "")
		requests := []ordersdb.ChangeRequest{c.to(first, order.Acknowledged), c.to(second, order.Dispatched),
			c.to(first, order.FoodReady)}
		broken := pgtest.BreakAt(c.db, n)
		codes := pgtest.ChangeBatch(c.store, requests...)
		if !broken() {
			require.Equal(t, []core.Code{"", "", ""}, codes)
			require.Greater(t, n, 8, "every statement is interrupted once")
			return
		}
		if done := c.states(second); len(done) == 0 {
			require.NotContains(t, codes, core.Code(""), "statement %d", n)
			require.Empty(t, c.states(first))
			require.Equal(t, []core.Code{"", "", ""}, pgtest.ChangeBatch(c.store, requests...))
		}
		require.Equal(t, []order.State{order.Acknowledged, order.FoodReady}, c.states(first), "statement %d", n)
		require.Len(t, c.moves(), 3*n)
		var calls int
		pgtest.Row(t, c.db, &calls, `SELECT count(*) FROM calls WHERE order_id = ?`, first)
		require.Equal(t, 2, calls)
	}
}

func TestOverlappingChangesOfTwoReplicasDoNotDeadlock(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	k, intake := newMenuHarness(t, db, "US"), newIntake(t, db)
	k.store("s1")
	var ids []int64
	for n := range 20 {
		ids = append(ids, k.placeOrder(intake, k.arrival(fmt.Sprint(n), "web", oneCurry, "")).Order.Details.ID)
	}
	stores := []ordersdb.Store{ordersdb.New(db), ordersdb.New(hubtest.Connect(t, url, nil))}
	for _, state := range []order.State{order.Acknowledged, order.FoodReady, order.Completed} {
		var changing sync.WaitGroup
		for n := range 6 {
			changing.Go(func() {
				var batch []ordersdb.ChangeRequest
				for _, i := range rand.Perm(len(ids)) {
					batch = append(batch, ordersdb.ChangeRequest{Business: k.business, OrderID: ids[i],
						Change: order.Change{To: state}})
				}
				for _, code := range pgtest.ChangeBatch(stores[n%2], batch...) {
					require.Empty(t, code)
				}
			})
		}
		changing.Wait()
	}
	require.Len(t, pgtest.EventBodies(t, db, core.OrderStatusUpdate), 3*len(ids), "each change once")
}
