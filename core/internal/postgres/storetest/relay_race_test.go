package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/access"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

// fakeAggregator replaces plugins, platforms and an aggregator. It sometimes loses a request or a
// response.
type fakeAggregator struct {
	mu        sync.Mutex
	orders    map[string][]string // received statuses of each order, in order
	locations map[string][]int64  // received locations of each order: their longitudes
	busy      map[string]bool
	faults    []string
}

func (*fakeAggregator) Plan(_ context.Context, c relay.Call, _ []byte) (relay.Decision, error) {
	return relay.Decision{Plan: &relay.Plan{
		Endpoint: "api", Hosts: []string{"x.example"}, Method: "POST",
		Path: "/" + string(c.Kind) + "/" + strconv.FormatInt(c.Order.ID, 10), Body: c.Payload,
	}}, nil
}

func (*fakeAggregator) Serves(string) bool { return true }

func (*fakeAggregator) Interpret(context.Context, relay.Call, []byte, relay.Response) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

func (*fakeAggregator) Access(context.Context, core.BusinessID, string) (relay.Access, error) {
	return relay.Access{BaseURLs: map[string]string{"api": "https://x.example"}}, nil
}

func (*fakeAggregator) Called(relay.Result) {}

func (p *fakeAggregator) Send(_ context.Context, r relay.Request) relay.Attempt {
	p.mu.Lock()
	if p.busy[r.URL] {
		p.faults = append(p.faults, "concurrent calls: "+r.URL)
	}
	p.busy[r.URL] = true
	p.mu.Unlock()
	random := rand.IntN(40)
	if random != 0 {
		var sent struct{ Status, Longitude string }
		if err := json.Unmarshal(r.Body, &sent, json.MatchCaseInsensitiveNames(true)); err != nil {
			panic(err)
		}
		p.mu.Lock()
		if sent.Status != "" {
			p.orders[r.URL] = append(p.orders[r.URL], string(r.Body))
		} else {
			n, _ := strconv.ParseInt(sent.Longitude, 10, 64)
			p.locations[r.URL] = append(p.locations[r.URL], n)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.busy[r.URL] = false
	p.mu.Unlock()
	a := relay.Attempt{StartedAt: time.Now(), Method: r.Method, URL: r.URL, Status: 200}
	if random < 2 { // the request or the response was lost
		a.Status, a.ErrorClass, a.Error = 0, "connection_broken", "the endpoint closed the connection"
	}
	return a
}

func TestReplicasSendRiderUpdatesInOrder(t *testing.T) {
	url := hubtest.DatabaseURL(t)
	d := &riderHarness{menuHarness: newMenuHarness(t, hubtest.Open(t, url, nil), "US")}
	d.store("s1")
	d.servedBy("b", "aggregator-b")
	p := &fakeAggregator{orders: map[string][]string{}, locations: map[string][]int64{}, busy: map[string]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var engines sync.WaitGroup
	replicas := []*ordersdb.Riders{}
	for range 2 {
		db := hubtest.Connect(t, url, nil)
		engine := relay.NewEngine(relay.Config{Poll: 50 * time.Millisecond, EndpointLimit: 8}, relay.Dependencies{
			Queue: callsOf(db), Plugins: p, Platforms: p, Sender: p, Clock: db.Clock(), Observer: p,
			Log: hubtest.Logger(),
		})
		outbox.UseRelay(db, engine.Wake)
		riders := ordersdb.NewRiders(db)
		replicas = append(replicas, riders)
		engines.Go(func() { engine.Run(ctx) })
	}
	const orders, rides = 12, 14
	var ids []int64
	for range orders {
		ids = append(ids, d.order("b", ""))
	}
	var sending sync.WaitGroup
	for _, id := range ids {
		sending.Go(func() {
			for n := range rides {
				status := []order.RiderStatus{order.Assigned, order.Unassigned}[n%2]
				update := order.RiderUpdate{Business: d.business, Actor: "key:pos", OrderID: id, Status: status,
					Rider: order.Rider{Name: fmt.Sprint(n)}}
				_, err := replicas[rand.IntN(2)].Update(ctx, update)
				require.NoError(t, err)
				place := order.RiderLocation{Business: d.business, OrderID: id, Latitude: "1", Longitude: fmt.Sprint(n),
					SeenAt: d.db.Clock().Now()}
				require.NoError(t, replicas[rand.IntN(2)].UpdateLocation(ctx, place))
			}
		})
	}
	sending.Wait()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, id := range ids {
			received := p.locations[fmt.Sprint("https://x.example/rider_location/", id)]
			if len(slices.Compact(slices.Clone(p.orders[fmt.Sprint("https://x.example/rider_status/", id)]))) < rides ||
				len(received) == 0 || received[len(received)-1] != rides-1 {
				return false
			}
		}
		return true
	}, 60*time.Second, 5*time.Millisecond)
	stop()
	engines.Wait()
	for _, riders := range replicas {
		riders.Close()
	}
	require.Empty(t, p.faults)
	for _, id := range ids {
		for n, body := range slices.Compact(p.orders[fmt.Sprint("https://x.example/rider_status/", id)]) {
			want := []string{fmt.Sprintf(`"ASSIGNED","name":"%d"`, n), `"UNASSIGNED"`}[n%2]
			require.Contains(t, body, want, "order %d, status %d", id, n)
		}
		require.True(t, slices.IsSorted(p.locations[fmt.Sprint("https://x.example/rider_location/", id)]),
			"no location is sent after a newer one")
	}
}

func TestConcurrentRequestsAreAllCounted(t *testing.T) {
	db := hubtest.Database(t, nil)
	one, two := hubtest.Business(t, db).ID, hubtest.Business(t, db).ID
	replicas := []access.Throttles{access.NewThrottles(db), access.NewThrottles(db)}
	var counting sync.WaitGroup
	for n := range 400 {
		counting.Go(func() {
			business, name := []core.BusinessID{one, two}[n%2], []string{"RIDER", "LOCATION"}[n/2%2]
			require.NoError(t, replicas[n%2].Change(context.Background(), business, name,
				func(state []byte) []byte { return append(state, 'x') }))
		})
	}
	counting.Wait()
	for _, business := range []core.BusinessID{one, two} {
		for _, name := range []string{"RIDER", "LOCATION"} {
			require.NoError(t, replicas[0].Change(context.Background(), business, name, func(state []byte) []byte {
				require.Len(t, state, 100)
				return state
			}))
		}
	}
}

func TestClockChangeShiftsPendingCalls(t *testing.T) {
	ctx, db := context.Background(), hubtest.Open(t, settableClock(t), nil)
	require.NoError(t, db.SyncClock(ctx))
	d := &riderHarness{menuHarness: newMenuHarness(t, db, "US"), riders: ordersdb.NewRiders(db), calls: callsOf(db)}
	t.Cleanup(d.riders.Close)
	d.store("s1")
	d.servedBy("b", "aggregator-b")
	id := d.order("b", "")
	locate := func(latitude string) {
		require.NoError(t, d.riders.UpdateLocation(ctx,
			order.RiderLocation{Business: d.business, OrderID: id, Latitude: latitude, Longitude: "2",
				SeenAt: db.Clock().Now()}))
	}
	claim := func() []relay.Call {
		batch, err := d.calls.Claim(ctx, me, queue.Capacity{Items: 10, OtherKeys: 10},
			db.Clock().Now().Add(20*time.Second))
		require.NoError(t, err)
		return batch.Items
	}
	locate("1")
	calls := claim()
	require.Len(t, calls, 1)
	require.NoError(t, d.calls.Finish(ctx, me,
		[]relay.Result{{Call: calls[0], State: relay.Done, FinishedAt: db.Clock().Now()}}))
	_, err := d.riders.Update(ctx, order.RiderUpdate{Business: d.business, OrderID: id, Status: order.Assigned})
	require.NoError(t, err)
	setClock(t, db, -time.Hour)
	require.NoError(t, db.SyncClock(ctx))
	locate("2")
	require.Len(t, claim(), 2, "waiting calls are due, and a new location replaces the old one")
}

func TestCallClaimSkipsBusyPlugins(t *testing.T) {
	d := newRiderHarness(t)
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{Name: "Ada", Phone: "+15550001"}))
	for _, c := range []struct {
		busy  string
		calls int
	}{{"aggregator-b", 0}, {"another", 1}} {
		batch, err := d.calls.Claim(context.Background(), me,
			queue.Capacity{Items: 10, OtherKeys: 10, BusyGroups: []string{c.busy}}, d.clock.Now().Add(20*time.Second))
		require.NoError(t, err)
		require.Len(t, batch.Items, c.calls)
		require.True(t, batch.NextDue.IsZero() || batch.NextDue.After(d.clock.Now()),
			"due calls of a busy plugin cause no claim")
	}
}
