package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// orderEvent is a delivery about an order.
type orderEvent struct {
	webhookID string
	what      string // Placed, or the new state
}

// orderSink is the endpoint of a POS. It records the deliveries of each order.
type orderSink struct {
	url   string
	delay time.Duration
	gate  atomic.Pointer[chan struct{}] // while it is set, requests wait until it is closed

	mu       sync.Mutex
	byOrder  map[int64][]orderEvent
	problems []string
}

func newOrderSink(t *testing.T, delay time.Duration) *orderSink {
	t.Helper()
	s := &orderSink{byOrder: map[int64][]orderEvent{}, delay: delay}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP records a delivery.
func (s *orderSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the hub was killed while sending
	}
	var event struct {
		Order struct {
			Details struct {
				ID int64 `json:"id"`
			} `json:"details"`
		} `json:"order"`
		OrderID  int64  `json:"order_id"`
		NewState string `json:"new_state"`
	}
	err = errors.Join(json.Unmarshal(body, &event),
		eventtest.Validate(core.EventType(r.Header.Get("X-Event-Type")), body))
	order, what := event.OrderID, event.NewState
	if r.URL.Path == "/order_placed" {
		order, what = event.Order.Details.ID, "Placed"
	}
	s.mu.Lock()
	if err != nil || order == 0 {
		s.problems = append(s.problems, fmt.Sprintf("%v: %.200s", err, body))
	}
	s.byOrder[order] = append(s.byOrder[order], orderEvent{r.Header.Get("webhook-id"), what})
	s.mu.Unlock()
	if gate := s.gate.Load(); gate != nil {
		select {
		case <-*gate:
		case <-r.Context().Done():
		}
	}
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-r.Context().Done():
		}
	}
}

// orderLoad is a business whose channel places orders and whose POS processes them. Each request is retried until it
// succeeds.
type orderLoad struct {
	client  *http.Client
	pos     string        // value of the Authorization header
	channel string        // the same, of the channel
	done    chan struct{} // closed by stop
	stop    func()

	hubs      atomic.Pointer[[]string]
	succeeded atomic.Int64
	failures  atomic.Int64

	mu       sync.Mutex
	orders   map[int64]string // platform_order_id, by id
	accepted map[int64]int    // number of accepted state changes
	problems []string
}

// orderStates are the states that the POS sets for every order.
var orderStates = []string{"Acknowledged", "Food Ready"}

const channels = 4

func startOrderLoad(t *testing.T, env environment, sink *orderSink, hubs ...string) *orderLoad {
	t.Helper()
	k := &orderLoad{
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		orders: map[int64]string{}, accepted: map[int64]int{},
	}
	db := hubtest.Connect(t, env["SERVERY_DATABASE_URL"], nil)
	tenant := hubtest.Business(t, db)
	k.pos, k.channel = tenant.Authorization, hubtest.ChannelKey(t, db, tenant.ID, "")
	require.NoError(t, db.Close())
	k.setHubs(hubs...)
	for _, event := range []string{"order_placed", "order_status_update"} {
		response := hubtest.Call(t, "POST", hubs[0]+webhooksPath, k.pos,
			map[string]any{"event_type": event, "url": sink.url + "/" + event, "retrial_interval_units": "seconds"})
		require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
	}
	response := hubtest.Call(t, "POST", hubs[0]+storesPath, k.pos,
		`{"stores":[{"ref_id":"S-1","name":"Harbour","city":"Oakland","included_platforms":["web"]}]}`)
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
	eventually(t, waitTimeout, func() error {
		if got := hubtest.Call(t, "GET", hubs[0]+storesPath+"S-1/", k.pos, nil); got.Status != http.StatusOK {
			return fmt.Errorf("the store is not there yet: %d", got.Status)
		}
		return nil
	})
	k.done = make(chan struct{})
	var working sync.WaitGroup
	for n := range channels {
		working.Go(func() { k.processOrders(n) })
	}
	k.stop = sync.OnceFunc(func() {
		close(k.done)
		working.Wait()
		k.client.CloseIdleConnections()
	})
	t.Cleanup(k.stop)
	return k
}

// setHubs sets the hubs for the following requests.
func (k *orderLoad) setHubs(hubs ...string) { k.hubs.Store(&hubs) }

// processOrders places orders and moves each through its states.
func (k *orderLoad) processOrders(n int) {
	tick := time.NewTicker(60 * time.Millisecond) // of an order
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-k.done:
			return
		case <-tick.C:
		}
		platformID := fmt.Sprintf("W-%d-%d", n, i)
		var placed struct {
			OrderID int64 `json:"order_id"`
		}
		if !k.retryUntilAccepted("POST", "/channel/api/v1/orders/", k.channel, fmt.Sprintf(
			`{"platform":"web","platform_order_id":%q,"store_ref_id":"S-1","items":[{"ref_id":"dal","quantity":1,`+
				`"price":9.5}]}`, platformID), &placed) {
			continue
		}
		k.mu.Lock()
		if other, known := k.orders[placed.OrderID]; known || placed.OrderID == 0 {
			k.problems = append(k.problems, fmt.Sprintf("order %d for %s and for %s", placed.OrderID, other,
				platformID))
		}
		k.orders[placed.OrderID] = platformID
		k.mu.Unlock()
		for _, state := range orderStates {
			var moved struct{ Status string }
			path := "/external/api/v1/orders/" + strconv.FormatInt(placed.OrderID, 10) + "/status/"
			if !k.retryUntilAccepted("PUT", path, k.pos, `{"new_status":"`+state+`"}`, &moved) {
				break
			}
			k.mu.Lock()
			k.accepted[placed.OrderID]++
			k.mu.Unlock()
		}
	}
}

// retryUntilAccepted sends a request until it returns 200 or the load ends.
func (k *orderLoad) retryUntilAccepted(method, path, authorization, body string, into any) bool {
	for {
		hubs := *k.hubs.Load()
		status, err := k.send(method, hubs[rand.IntN(len(hubs))]+path, authorization, body, into)
		switch {
		case err == nil && status == http.StatusOK:
			k.succeeded.Add(1)
			return true
		case err == nil && status < 500:
			k.mu.Lock()
			k.problems = append(k.problems, fmt.Sprintf("%s %s: %d", method, path, status))
			k.mu.Unlock()
			return false
		}
		k.failures.Add(1)
		select {
		case <-k.done:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (k *orderLoad) send(method, url, authorization, body string, into any) (int, error) {
	request, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	response, err := k.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}

// awaitSuccesses waits until more requests have succeeded.
func (k *orderLoad) awaitSuccesses(t *testing.T, more int64) {
	t.Helper()
	first := k.succeeded.Load()
	eventually(t, waitTimeout, func() error {
		if now := k.succeeded.Load(); now < first+more {
			return fmt.Errorf("%d requests answered, %d failures", now-first, k.failures.Load())
		}
		return nil
	})
}

// requireNothingLost waits until all work of a stopped load is done. The POS must have received every order and state
// change, each with one id and in order.
func (k *orderLoad) requireNothingLost(t *testing.T, sink *orderSink, database string) (repeated int) {
	t.Helper()
	require.Empty(t, k.problems)
	ledger := openTestDatabase(t, database)
	eventually(t, 2*waitTimeout, func() error {
		if waiting := ledger.number(t, `SELECT count(*) FROM delivery_queue`); waiting > 0 {
			return fmt.Errorf("%d deliveries wait", waiting)
		}
		return nil
	})
	sink.mu.Lock()
	defer sink.mu.Unlock()
	require.Empty(t, sink.problems)
	require.Zero(t, ledger.number(t, `SELECT count(*) FROM deliveries WHERE state <> 'delivered'`))
	require.Equal(t, len(sink.byOrder), ledger.number(t, `SELECT count(*) FROM orders`),
		"every order is reported, and no other")
	ids := map[string]bool{}
	for order, moved := range k.accepted {
		require.GreaterOrEqual(t, len(sink.byOrder[order]), 1+moved)
	}
	for order := range k.orders {
		require.NotEmpty(t, sink.byOrder[order], "order %d (%s)", order, k.orders[order])
	}
	for order, list := range sink.byOrder {
		idOf, firsts := map[string]string{}, []string{}
		for _, one := range list {
			if id, known := idOf[one.what]; known {
				require.Equal(t, id, one.webhookID, "order %d was reported as %s under two ids", order, one.what)
				repeated++
				continue
			}
			require.False(t, ids[one.webhookID], "one id for two events")
			ids[one.webhookID], idOf[one.what] = true, one.webhookID
			firsts = append(firsts, one.what)
		}
		want := slices.Concat([]string{"Placed"}, orderStates)[:len(firsts)]
		require.Equal(t, want, firsts, "order %d", order)
		require.LessOrEqual(t, 1+k.accepted[order], len(firsts), "order %d", order)
	}
	t.Logf("%d orders, %d requests answered, %d failed; %d deliveries repeated", len(sink.byOrder), k.succeeded.Load(),
		k.failures.Load(), repeated)
	return repeated
}

func TestKillingEitherHubLosesNoOrder(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newOrderSink(t, 0)
	hubs := []*hubtest.Hub{startHub(t, env), startHub(t, env)}
	k := startOrderLoad(t, env, sink, hubs[0].URL, hubs[1].URL)
	for n := range *kills {
		k.awaitSuccesses(t, rand.Int64N(40)) // the time of the crash is an input of the test
		n %= 2
		hubs[n].Kill()
		hubs[n] = startHub(t, env)
		k.setHubs(hubs[0].URL, hubs[1].URL)
	}
	k.awaitSuccesses(t, 20)
	k.stop()
	require.Greater(t, len(k.orders), 2**kills)
	k.requireNothingLost(t, sink, database)
}

func TestRollingStopLosesAndRepeatsNoOrder(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := withLongLeases(onDatabase(database)), newOrderSink(t, 20*time.Millisecond)
	hubs := []*hubtest.Hub{startHub(t, env), startHub(t, env)}
	k := startOrderLoad(t, env, sink, hubs[0].URL, hubs[1].URL)
	for n := range 4 {
		k.awaitSuccesses(t, 100)
		k.setHubs(hubs[(n+1)%2].URL)
		require.Zero(t, hubs[n%2].Terminate(t), "exit status")
		hubs[n%2] = startHub(t, env)
		k.setHubs(hubs[0].URL, hubs[1].URL)
	}
	k.awaitSuccesses(t, 20)
	k.stop()
	require.Zero(t, k.requireNothingLost(t, sink, database), "repeated")
}

func TestTemporaryDatabaseOutageLosesNoOrder(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := joinPostgres(t, dir)
	env, sink := onDatabase(pg.DSN()), newOrderSink(t, 0)
	hub := startHub(t, env)
	k := startOrderLoad(t, env, sink, hub.URL)
	k.awaitSuccesses(t, 100)
	hubtest.KillWithChildren(t, hubtest.Postmaster(t, dir))
	<-time.After(30 * time.Second) // the length of the outage is an input of the test
	require.True(t, hub.Running())
	joinPostgres(t, dir)
	k.awaitSuccesses(t, 100)
	k.stop()
	require.Positive(t, k.failures.Load())
	k.requireNothingLost(t, sink, pg.DSN())
}
