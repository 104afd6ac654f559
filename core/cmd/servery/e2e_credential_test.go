package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// rotatingAggregator accepts each refresh token once, and its latest access token. A gate stops it at a request.
type rotatingAggregator struct {
	mu       sync.Mutex
	refresh  string
	access   string
	granted  int
	refused  int
	accepted int
	gate     func(path string) bool // true: the request gets no response
	stopped  chan struct{}          // receives when the gate stops a request
}

func (g *rotatingAggregator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	stop := g.gate != nil && g.gate(r.URL.Path)
	if stop {
		g.gate = nil
	}
	g.mu.Unlock()
	if stop {
		g.stopped <- struct{}{}
		<-r.Context().Done()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	form, _ := url.ParseQuery(string(body))
	switch {
	case r.URL.Path == "/oauth/token" && form.Get("refresh_token") != g.refresh:
		g.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
	case r.URL.Path == "/oauth/token":
		g.granted++
		g.refresh, g.access = fmt.Sprint("refresh-", g.granted), fmt.Sprint("access-", g.granted)
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": g.access, "refresh_token": g.refresh,
			"expires_in": 3600})
	case r.Header.Get("Authorization") != "Bearer "+g.access:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		g.accepted++
	}
}

// stopAt makes the next request with a path wait for ever.
func (g *rotatingAggregator) stopAt(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate = func(at string) bool { return len(at) >= len(path) && at[:len(path)] == path }
}

func (g *rotatingAggregator) awaitStop(t *testing.T) {
	t.Helper()
	select {
	case <-g.stopped:
	case <-time.After(waitTimeout):
		t.Fatal("the request to stop at has not arrived")
	}
}

func (g *rotatingAggregator) awaitAccepted(t *testing.T, n int) {
	t.Helper()
	eventually(t, waitTimeout, func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.accepted < n {
			return fmt.Errorf("%d of %d calls were accepted", g.accepted, n)
		}
		return nil
	})
}

func TestRotatedRefreshTokenSurvivesAKilledHub(t *testing.T) {
	g := &rotatingAggregator{refresh: "refresh-0", stopped: make(chan struct{}, 1)}
	aggregator := httptest.NewServer(g)
	t.Cleanup(aggregator.Close)
	dir := t.TempDir()
	installtest.Plugin(t, dir, "credentialed", "../../internal/hub/testdata/credentialed")
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", dir)
	hub := startHub(t, env)
	who := newAPIClient(t, env)
	set := servery(t, env, "platform", "set", fmt.Sprint("--business=", who.business), "tasty", "--plugin=credentialed",
		"--endpoint=api="+aggregator.URL, "--endpoint=slow="+aggregator.URL, "--secret=client_id=one",
		"--secret=client_secret=of the client", `--settings={"endpoint":"api","credentials":["renewed"]}`)
	require.Zero(t, set.status, set.stderr)
	require.Contains(t, set.stdout, "still missing: endpoint per_order, endpoint certified, secret certificate, "+
		"secret certificate_key, secret refresh_token, secret signing_key, secret login_token\n")
	set = servery(t, env, "platform", "set", fmt.Sprint("--business=", who.business), "tasty",
		"--secret=refresh_token=refresh-0", "--secret=signing_key=k")
	require.Zero(t, set.status, set.stderr)
	orders := prepareRiders(t, env, hub, who, 3)

	// It is killed when the aggregator has rotated the refresh token, and before the call with the access token ends.
	g.stopAt("/riders/")
	assignRider(t, hub, who, orders[0])
	g.awaitStop(t)
	hub.Kill()
	g.mu.Lock()
	require.Equal(t, 1, g.granted)
	g.access = "revoked"
	g.mu.Unlock()
	hub = startHub(t, env)
	g.awaitAccepted(t, 1)
	g.mu.Lock()
	require.Equal(t, []int{2, 0}, []int{g.granted, g.refused}, "the rotated refresh token was stored")
	g.access = "revoked"
	g.mu.Unlock()

	// It is killed during the token request, before the aggregator rotates.
	g.stopAt("/oauth/token")
	assignRider(t, hub, who, orders[1])
	g.awaitStop(t)
	hub.Kill()
	hub = startHub(t, env)
	g.awaitAccepted(t, 2)
	listed := servery(t, env, "platform", "list", fmt.Sprint("--business=", who.business))
	require.Contains(t, listed.stdout, "token renewed renewed at 2")
	for _, secret := range []string{"of the client", "refresh-", "access-"} {
		require.NotContains(t, listed.stdout, secret)
	}
	assignRider(t, hub, who, orders[2])
	g.awaitAccepted(t, 3)
	require.Equal(t, []int{3, 0}, []int{g.granted, g.refused})
}

// prepareRiders places orders on the platform tasty and returns their ids.
func prepareRiders(t *testing.T, env environment, hub *hubtest.Hub, who apiClient, n int) (orders []int64) {
	t.Helper()
	post := func(path, authorization string, body any) map[string]any {
		response := hubtest.Call(t, "POST", hub.URL+path, authorization, body)
		require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
		return response.Object(t)
	}
	post(storesPath+"?wait=10", who.authorization, map[string]any{"stores": []any{map[string]any{"ref_id": "s1",
		"name": "N", "city": "C", "excluded_platforms": []any{}}}})
	post("/external/api/v1/inventory/locations/s1/?wait=10", who.authorization, map[string]any{"items": []any{
		map[string]any{"ref_id": "dal", "title": "Dal", "price": 9}}})
	channel := newKey(t, env, who.business, "channel")
	for i := range n {
		placed := post("/channel/api/v1/orders/", channel.authorization, map[string]any{"platform": "tasty",
			"platform_order_id": fmt.Sprint("T-", i), "store_ref_id": "s1", "delivery_type": "self",
			"items": []any{map[string]any{"ref_id": "dal", "quantity": 1}}})
		orders = append(orders, int64(placed["order_id"].(float64)))
	}
	return orders
}

func assignRider(t *testing.T, hub *hubtest.Hub, who apiClient, order int64) {
	t.Helper()
	response := hubtest.Call(t, "POST", hub.URL+"/ext/api/v1/generic/pos/rider-status/", who.authorization,
		map[string]any{"order_id": order, "status": "ASSIGNED",
			"rider_data": map[string]any{"rider_name": "Asha", "rider_phone_number": "5550100"}})
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
}
