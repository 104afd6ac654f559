package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ordersPath   = "/channel/api/v1/orders/"
	storesPath   = "/external/api/v1/stores/"
	menusPath    = "/external/api/v1/inventory/locations/"
	webhooksPath = "/external/api/v1/webhooks/"
	riderPath    = "/ext/api/v1/generic/pos/rider-status/"
)

// The states that a POS sets for every order, and the rider statuses in the hub's API and at aggregator B.
var (
	orderStates    = []string{"Acknowledged", "Food Ready", "Completed"}
	riderStatuses  = []string{"ASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED"}
	riderStatusesB = []string{"rider_assigned", "rider_at_store", "picked_up", "rider_at_customer", "delivered"}
)

// tenant is a business with the keys of its POS and its channel.
type tenant struct {
	id           int64
	pos, channel string // values of the Authorization header
}

// acceptedOrder is an accepted order and the number of its accepted steps.
type acceptedOrder struct {
	key   string // platform_order_id
	rider bool   // its steps are rider statuses
	steps int
}

// expected returns the events that an endpoint receives for the order.
func (o acceptedOrder) expected() []string {
	all := []string{"Placed"}
	if !o.rider {
		return append(all, orderStates...)
	}
	for _, status := range riderStatuses {
		all = append(all, "rider "+status)
	}
	return all
}

// load sends the requests of integrators and records what was accepted.
type load struct {
	base       string
	client     *http.Client
	slowClient *http.Client // for riders, stores and menus
	tenant     tenant
	done       chan struct{}
	stop       func()

	accepted atomic.Int64 // requests
	failures atomic.Int64 // requests without a response, or with one that requires a retry

	mu              sync.Mutex
	orders          map[int64]*acceptedOrder
	references      map[string]string // required callback by request, such as store_creation REFERENCE
	possibleNumbers map[string][]int  // the possible final numbers of each store, and prices at each location
	// when the last accepted request was sent, not counting repeated ones
	latest   time.Time
	problems []string
}

// startLoad starts to send requests.
func startLoad(t *testing.T, base string, who tenant) *load {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 2 * time.Second}
	l := &load{
		base: base, tenant: who, done: make(chan struct{}), orders: map[int64]*acceptedOrder{},
		references:      map[string]string{},
		possibleNumbers: map[string][]int{},
		client:          &http.Client{Timeout: 8 * time.Second, Transport: transport},
		// A long timeout: a hub that was stopped could process a request after those that followed it.
		slowClient: &http.Client{Timeout: waitTimeout, Transport: transport},
	}
	var working sync.WaitGroup
	every := func(pause time.Duration, do func(n int)) {
		working.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-l.done:
					return
				case <-tick.C:
					do(n)
				}
			}
		})
	}
	for client := range 3 {
		every(150*time.Millisecond, func(n int) { l.processOrder(fmt.Sprintf("W-%d-%d", client, n), "web", false) })
	}
	for client := range 2 {
		every(300*time.Millisecond, func(n int) {
			l.processOrder(fmt.Sprintf("B-%d-%d", client, n), "aggregator-b", true)
		})
	}
	every(250*time.Millisecond, func(n int) {
		ref := fmt.Sprintf("T-%d", n%40)
		reference := l.sendOnce("store_creation", storesPath,
			fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"Till %d","city":"Oakland","included_platforms":["web"]}]}`,
				ref, n))
		l.recordNumber(storesPath+ref+"/", n, reference != "")
	})
	every(700*time.Millisecond, func(n int) {
		place := menusPath + []string{"S-1/", "-1/"}[n%2]
		l.recordNumber(place, 5+n%7, l.sendOnce("inventory_update", place, menu(n)) != "")
	})
	every(4*time.Second, func(int) {
		now := time.Now()
		l.sendOnce("webhook_retry", webhooksPath+"retry/",
			fmt.Sprintf(`{"event_type":18,"start_time":%d,"end_time":%d}`, now.Add(-time.Minute).UnixMilli(),
				now.UnixMilli()))
	})
	l.stop = sync.OnceFunc(func() {
		close(l.done)
		working.Wait()
		l.client.CloseIdleConnections()
	})
	t.Cleanup(l.stop)
	return l
}

func menu(n int) string {
	return fmt.Sprintf(`{"categories":[{"ref_id":"mains","name":"Mains"}],"items":[{"ref_id":"dal","title":"Dal",`+
		`"price":%d.50,"category_ref_ids":["mains"]},
		{"ref_id":"tea","title":"Tea","price":2.25,"category_ref_ids":["mains"]}]}`, 5+n%7)
}

// processOrder places an order and sends its steps. Like a channel and a POS, it retries each request until it gets a
// response.
func (l *load) processOrder(key, platform string, rider bool) {
	id, placed := l.place(l.tenant, key, platform)
	if !placed {
		return
	}
	order := &acceptedOrder{key: key, rider: rider}
	l.mu.Lock()
	if other := l.orders[id]; other != nil || id == 0 {
		l.problems = append(l.problems, fmt.Sprintf("order %d for %s and for %s", id, other.key, key))
	}
	l.orders[id] = order
	l.mu.Unlock()
	steps := orderStates
	if rider {
		steps = riderStatuses
	}
	for _, step := range steps {
		method, path, content := "PUT", "/external/api/v1/orders/"+strconv.FormatInt(id, 10)+"/status/",
			`{"new_status":"`+step+`"}`
		if rider {
			method, path = "POST", riderPath
			content =
				fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":{"rider_name":"Asha",`+
					`"rider_phone_number":"5550100"}}`, id, step)
		}
		if !l.retryUntilAccepted(method, path, l.tenant.pos, content, &struct{}{}) {
			return
		}
		l.mu.Lock()
		order.steps++
		l.mu.Unlock()
	}
}

// place sends an order until it is accepted.
func (l *load) place(who tenant, key, platform string) (id int64, placed bool) {
	var response struct {
		OrderID int64 `json:"order_id"`
	}
	placed = l.retryUntilAccepted("POST", ordersPath, who.channel, fmt.Sprintf(
		`{"platform":%q,"platform_order_id":%q,"store_ref_id":"S-1","delivery_type":"self","items":[{"ref_id":"dal",`+
			`"quantity":1,"price":9.5}]}`, platform, key), &response)
	return response.OrderID, placed
}

// retryUntilAccepted sends a request until it returns 200 or the load ends.
func (l *load) retryUntilAccepted(method, path, authorization, content string, into any) bool {
	for repeated := false; ; repeated = true {
		sent := time.Now()
		status, err := l.send(method, path, authorization, content, into)
		switch {
		case err == nil && status == http.StatusOK:
			l.accepted.Add(1)
			if !repeated {
				l.recordAccepted(sent)
			}
			return true
		case err == nil && status < 500:
			l.addProblem("%s %s %s: answered %d", method, path, content, status)
			return false
		}
		l.failures.Add(1)
		select {
		case <-l.done:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sendOnce sends a request. If it was accepted, it records the required callback.
func (l *load) sendOnce(answeredBy, path, content string) (reference string) {
	var response struct{ Reference string }
	sent := time.Now()
	status, err := l.send("POST", path, l.tenant.pos, content, &response)
	switch {
	case err != nil || status >= 500:
		l.failures.Add(1)
	case status != http.StatusOK || response.Reference == "":
		l.addProblem("POST %s: answered %d, reference %q", path, status, response.Reference)
	default:
		l.accepted.Add(1)
		l.recordAccepted(sent)
		l.mu.Lock()
		l.references[answeredBy+" "+response.Reference] = path
		l.mu.Unlock()
	}
	return response.Reference
}

// recordNumber records the possible final state after a request. A request without a response may have been processed.
func (l *load) recordNumber(path string, number int, accepted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if accepted {
		l.possibleNumbers[path] = []int{number}
	} else if l.possibleNumbers[path] != nil { // otherwise it need not exist
		l.possibleNumbers[path] = append(l.possibleNumbers[path], number)
	}
}

func (l *load) recordAccepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.After(l.latest) {
		l.latest = sent
	}
}

// acceptedAfter reports whether a later request was accepted that is not a repetition.
func (l *load) acceptedAfter(then time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest.After(then)
}

func (l *load) addProblem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

func (l *load) send(method, path, authorization, content string, into any) (int, error) {
	request, err := http.NewRequest(method, l.base+path, bytes.NewBufferString(content))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", authorization)
	client := l.client
	if method == "POST" && (path == riderPath || path == storesPath || strings.HasPrefix(path, menusPath)) {
		client = l.slowClient
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}

// mustCall sends a request that must be accepted.
func (l *load) mustCall(t *testing.T, path, authorization, content string) {
	t.Helper()
	var response json.RawMessage
	status, err := l.send("POST", path, authorization, content, &response)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", response)
}
