package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	intakedb "github.com/servery-hub/servery/core/internal/postgres/intake"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// arrival returns an order of store s1; more is appended to the body.
func (k *menuHarness) arrival(id, platform, items, more string) order.PlaceRequest {
	k.t.Helper()
	draft, err :=
		order.Decode([]byte(fmt.Sprintf(`{"platform":%q,"platform_order_id":%q,"store_ref_id":"s1","items":[%s]%s}`,
			platform, id, items, more)))
	require.NoError(k.t, err)
	return order.PlaceRequest{Business: k.business, Actor: "key:shop", Draft: draft}
}

const oneCurry = `{"ref_id":"curry","quantity":1,"price":5}`

func newIntake(t *testing.T, db *postgres.DB) *intakedb.Intake {
	intake := intakedb.New(db)
	t.Cleanup(intake.Close)
	return intake
}

// placedIDs counts the order_placed events by platform_order_id.
func placedIDs(t *testing.T, db *postgres.DB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, body := range pgtest.EventBodies(t, db, core.OrderPlaced) {
		var relay order.Relay
		require.NoError(t, jsonv2.Unmarshal(body, &relay))
		counts[relay.Order.Details.Platforms[0].ID]++
	}
	return counts
}

func TestConcurrentDuplicatesOnTwoReplicasCreateOneOrder(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	intakes := []*intakedb.Intake{newIntake(t, db), newIntake(t, hubtest.Connect(t, url, nil))}
	var placing sync.WaitGroup
	receipts := make([]order.PlaceResult, 64)
	for n := range receipts {
		a := k.arrival("W-1", "web", oneCurry, "")
		placing.Go(func() {
			var err error
			receipts[n], err = intakes[n%2].Place(context.Background(), a)
			require.NoError(t, err)
		})
	}
	placing.Wait()
	fresh := 0
	for _, receipt := range receipts {
		require.Equal(t, receipts[0].OrderID, receipt.OrderID)
		if !receipt.Duplicate {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, map[string]int{"W-1": 1}, placedIDs(t, db))
	require.Equal(t, 1, pgtest.OrderCounts(t, db)[0])
}

func TestOverlappingBatchesOfTwoReplicasDoNotDeadlock(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	intakes := []*intakedb.Intake{newIntake(t, db), newIntake(t, hubtest.Connect(t, url, nil))}
	var mu sync.Mutex
	ids := map[string]int64{}
	var placing sync.WaitGroup
	for n := range 8 {
		placing.Go(func() {
			for round := range 12 {
				var batch []order.PlaceRequest
				for _, i := range rand.Perm(20) {
					batch = append(batch, k.arrival(fmt.Sprint(round/2, "-", i), "web", oneCurry, ""))
				}
				receipts, failures := pgtest.PlaceBatch(context.Background(), intakes[n%2], batch...)
				mu.Lock()
				for i := range batch {
					require.NoError(t, failures[i])
					ref := string(batch[i].Draft.PlatformOrderID)
					if ids[ref] == 0 {
						ids[ref] = receipts[i].OrderID
					}
					require.Equal(t, ids[ref], receipts[i].OrderID)
				}
				mu.Unlock()
			}
		})
	}
	placing.Wait()
	require.Len(t, ids, 120)
	for ref, n := range placedIDs(t, db) {
		require.Equal(t, 1, n, ref)
	}
}

func TestInvalidOrderFailsAloneInItsBatch(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, foreign := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "IN")
	k.store("s1")
	elsewhere := k.arrival("e", "web", oneCurry, "")
	elsewhere.Draft.StoreRefID = "s9"
	receipts, failures := pgtest.PlaceBatch(context.Background(), newIntake(t, db),
		k.arrival("a", "web", oneCurry, ""), k.arrival("b", "web", `{"ref_id":"curry","quantity":1}`, ""),
		k.arrival("a", "web", oneCurry, ""),
		k.arrival("c", "mars", oneCurry, ""), elsewhere, foreign.arrival("d", "web", oneCurry, ""),
		k.arrival("b", "web", oneCurry, ""))
	codes := []core.Code{}
	for _, err := range failures {
		codes = append(codes, core.CodeOf(err))
	}
	require.Equal(t, []core.Code{"", core.Invalid, "", core.NotFound, core.NotFound, core.NotFound, ""}, codes)
	require.ErrorContains(t, failures[1], `items[0] (ref_id "curry"): price is required`)
	require.ErrorContains(t, failures[3], "mars")
	require.ErrorContains(t, failures[4], "s9")
	require.ErrorContains(t, failures[5], "s1", "the store of another business is none")
	require.Equal(t, order.PlaceResult{OrderID: receipts[0].OrderID, Duplicate: true}, receipts[2])
	require.Equal(t, map[string]int{"a": 1, "b": 1}, placedIDs(t, db),
		"a valid order after an invalid one with its id is stored")

	_, failures = pgtest.PlaceBatch(context.Background(), newIntake(t, db),
		k.arrival("a", "web", `{"ref_id":"curry","quantity":1}`, ""), k.arrival("a", "web", oneCurry, ""))
	require.Equal(t, []error{nil, nil}, failures, "both repeat a stored order")
}

func TestOrderIsStoredAtomicallyDespiteACrash(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	hubtest.Subscribe(t, db, k.business, core.OrderPlaced, "https://pos.example.com/")
	for n := 1; ; n++ {
		intake := intakedb.New(db) // with an empty cache
		before := pgtest.OrderCounts(t, db)
		batch := []order.PlaceRequest{k.arrival(fmt.Sprint(n, "a"), "web", oneCurry, ""),
			k.arrival(fmt.Sprint(n, "b"), "app", oneCurry, "")}
		broken := pgtest.BreakAt(db, n)
		_, failures := pgtest.PlaceBatch(context.Background(), intake, batch...)
		if !broken() {
			require.NoError(t, failures[0])
			require.Greater(t, n, 5, "the intake has that many statements")
			return
		}
		after, events := pgtest.OrderCounts(t, db), placedIDs(t, db)
		if after == before {
			require.Error(t, failures[0], "statement %d", n)
			require.Error(t, failures[1], "statement %d", n)
			require.Zero(t, events[fmt.Sprint(n, "a")]+events[fmt.Sprint(n, "b")])
		}
		receipts, failures := pgtest.PlaceBatch(context.Background(), intake, batch...)
		require.NoError(t, failures[0])
		require.NotZero(t, receipts[1].OrderID)
		events = placedIDs(t, db)
		require.Equal(t, []int{1, 1}, []int{events[fmt.Sprint(n, "a")], events[fmt.Sprint(n, "b")]})
		require.Equal(t, [3]int{before[0] + 2, 0, before[2] + 2}, pgtest.OrderCounts(t, db))
	}
}

func TestConcurrentStatusChangesEachPublishOneEvent(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	hubs := []ordersdb.Store{ordersdb.New(db), ordersdb.New(hubtest.Connect(t, url, nil))}
	receipt, err := newIntake(t, db).Place(context.Background(), k.arrival("1", "web", oneCurry, ""))
	require.NoError(t, err)
	var moving sync.WaitGroup
	for n := range 24 {
		moving.Go(func() {
			to := order.States()[rand.IntN(len(order.States()))]
			_, err := hubs[n%2].Change(context.Background(), k.business, receipt.OrderID,
				order.Change{To: to, Actor: "key:pos"})
			if err != nil {
				require.Equal(t, core.Conflict, core.CodeOf(err))
			}
		})
	}
	moving.Wait()
	record, err := hubs[0].Get(context.Background(), k.business, "", receipt.OrderID)
	require.NoError(t, err)
	bodies := pgtest.EventBodies(t, db, core.OrderStatusUpdate)
	require.Len(t, record.History, len(bodies)+1)
	all, state := string(bytes.Join(bodies, nil)), order.Placed
	for _, step := range record.History[1:] {
		changed, err := state.Move(step.State)
		require.NoError(t, err)
		require.True(t, changed)
		states := fmt.Sprintf(`"prev_state":%q,"new_state":%q`, state, step.State)
		require.Contains(t, all, states)
		state = step.State
	}
	require.Equal(t, state, record.State)
}

func TestStatusChangeIsAtomicDespiteACrash(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	orders, intake := ordersdb.New(db), newIntake(t, db)
	for n := 1; ; n++ {
		receipt, err := intake.Place(context.Background(), k.arrival(fmt.Sprint(n), "web", oneCurry, ""))
		require.NoError(t, err)
		before := pgtest.OrderCounts(t, db)
		broken := pgtest.BreakAt(db, n)
		_, err = orders.Change(context.Background(), k.business, receipt.OrderID, order.Change{To: order.Dispatched})
		if !broken() {
			require.NoError(t, err)
			require.Greater(t, n, 5)
			return
		}
		record, readErr := orders.Get(context.Background(), k.business, "", receipt.OrderID)
		require.NoError(t, readErr)
		if record.State == order.Placed {
			require.Error(t, err, "statement %d", n)
			require.Equal(t, before, pgtest.OrderCounts(t, db))
		}
	}
}

func TestOldOrdersAreDeletedWithTheirHistory(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k, other := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "IN")
	k.store("s1")
	other.store("s1")
	orders, intake := ordersdb.New(db), newIntake(t, db)
	var old []order.PlaceRequest
	for n := range 1003 { // more than one statement deletes
		old = append(old, k.arrival(fmt.Sprint(n), "web", oneCurry, ""))
	}
	receipts, _ := pgtest.PlaceBatch(context.Background(), intake, old...)
	_, err := orders.Change(context.Background(), k.business, receipts[0].OrderID, order.Change{To: order.Completed})
	require.NoError(t, err)
	clock.Advance(time.Hour)
	young, err := intake.Place(context.Background(), other.arrival("young", "web", oneCurry, ""))
	require.NoError(t, err)
	require.NoError(t, orders.DropOld(context.Background(), time.Hour))
	require.Equal(t, [3]int{1004, 1, 0}, pgtest.OrderCounts(t, db), "kept until its retention ends")
	clock.Advance(time.Second)
	require.NoError(t, orders.DropOld(context.Background(), time.Hour))
	require.Equal(t, [3]int{1, 0, 0}, pgtest.OrderCounts(t, db))
	_, err = orders.Get(context.Background(), other.business, "", young.OrderID)
	require.NoError(t, err)
	_, err = orders.Get(context.Background(), k.business, "", receipts[0].OrderID)
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestLargeOrderReadsBackEqualAfterCompression(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	receipt, err := newIntake(t, db).Place(context.Background(),
		k.arrival("1", "web", strings.TrimSuffix(strings.Repeat(oneCurry+",", 300), ","),
			`,"instructions":"it's \\ \"quoted\" é ☃"`))
	require.NoError(t, err)
	record, err := ordersdb.New(db).Get(context.Background(), k.business, "web", receipt.OrderID)
	require.NoError(t, err)
	require.Equal(t, string(pgtest.EventBodies(t, db, core.OrderPlaced)[0]), string(record.Relay))
	reading, err := record.ToAPI()
	require.NoError(t, err)
	require.Equal(t, `it's \ "quoted" é ☃`, reading.Order.Details.Instructions)
	require.Len(t, reading.Order.Items, 300)
}

func TestDisabledKeyIsRejectedImmediately(t *testing.T) {
	db := hubtest.Database(t, nil)
	accounts := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
	tenants := []hubtest.Tenant{}
	for range 10 {
		tenants = append(tenants, hubtest.Business(t, db))
	}
	var asking sync.WaitGroup
	for n := range 200 {
		tenant := tenants[n%10]
		asking.Go(func() {
			if n%7 == 0 {
				_, err := accounts.Authenticate(context.Background(), tenant.Authorization+"x")
				require.Equal(t, core.Unauthenticated, core.CodeOf(err))
				return
			}
			caller, err := accounts.Authenticate(context.Background(), tenant.Authorization)
			require.NoError(t, err)
			require.Equal(t, tenant.ID, caller.Business)
			if n%20 == 1 { // no other goroutine uses this key
				own := hubtest.Business(t, db)
				require.NoError(t, accessdb.New(db).DisableKey(context.Background(), own.ID, own.KeyID))
				_, err := accounts.Authenticate(context.Background(), own.Authorization)
				require.Equal(t, core.Forbidden, core.CodeOf(err))
			}
		})
	}
	asking.Wait()
}
