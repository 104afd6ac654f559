package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

const publicationsRoute = "/external/api/v1/publications/"

// fakeAggregators records the requests to aggregators. The responses come from respond.
type fakeAggregators struct {
	URL     string
	mu      sync.Mutex
	got     []receivedRequest
	respond func(n int, r receivedRequest) (int, string)
}

type receivedRequest struct {
	path, secret, body, trace string
}

func newFakeAggregators(t *testing.T) *fakeAggregators {
	t.Helper()
	b := &fakeAggregators{}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.URL = server.URL
	return b
}

// ServeHTTP records a request and responds in the form of all aggregators.
func (b *fakeAggregators) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	one := receivedRequest{r.Method + " " + r.URL.Path,
		r.Header.Get("X-Partner-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") +
			r.Header.Get("X-App-Key"), string(body), r.Header.Get("traceparent")}
	b.mu.Lock()
	b.got = append(b.got, one)
	n, response := len(b.got), b.respond
	b.mu.Unlock()
	status, text := 200, `{"accepted":true,"code":0}`
	if response != nil {
		status, text = response(n, one)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func (b *fakeAggregators) requests() []receivedRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]receivedRequest(nil), b.got...)
}

func (b *fakeAggregators) respondWith(response func(n int, r receivedRequest) (int, string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.respond = response
}

// publishClient is a business whose store s1 is listed on platforms of plugins.
type publishClient struct {
	*menuClient
	aggregators   *fakeAggregators
	callbacks     *hubtest.Sink
	seenCallbacks int // callbacks
}

func newPublishClient(t *testing.T, plugins ...string) *publishClient {
	t.Helper()
	return newTracedPublishClient(t, nil, plugins...)
}

func newTracedPublishClient(t *testing.T, tracer *core.Tracer, plugins ...string) *publishClient {
	t.Helper()
	dir := t.TempDir()
	for _, letter := range plugins {
		installtest.Plugin(t, dir, "aggregator-"+letter, "../../../plugins/aggregator"+letter)
	}
	n := &publishClient{menuClient: newMenuClientAt(t, newPluginAPI(t, dir,
		func(c *Config) { unlimited(c); c.Tracer = tracer })),
		aggregators: newFakeAggregators(t), seenCallbacks: 1}
	for _, letter := range plugins {
		n.addPlatform(n.tenant, "p-"+letter, "aggregator-"+letter, "s3cret-"+letter, "")
	}
	n.callbacks = hubtest.NewEventSink(t, nil)
	n.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"hub_menu_publish","url":%q}`, n.callbacks.URL))
	return n
}

// addPlatform creates a platform.
func (n *publishClient) addPlatform(tenant hubtest.Tenant, name, plugin, secret, settings string) {
	n.t.Helper()
	require.NoError(n.t, platforms.New(n.hub.db).Set(context.Background(), tenant.ID,
		core.Platform{Name: name, ServedBy: plugin}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"partner_api": n.aggregators.URL, "catalogue_api": n.aggregators.URL,
				"delivery_api": n.aggregators.URL, "gateway": n.aggregators.URL}
			a.Secrets = map[string]string{"api_key": secret, "access_token": secret, "app_key": secret}
			a.Settings = []byte(settings)
			return nil
		}))
}

// sendMenu sends a menu of s1 and waits until it is stored.
func (n *publishClient) sendMenu(location, body string) string {
	n.t.Helper()
	reference := n.ok("POST", menuRoute+location+"/", body).body["reference"].(string)
	n.seenCallbacks++
	n.awaitCallback(n.seenCallbacks)
	return reference
}

// advanceUntil moves the clock until a condition is met.
func (n *publishClient) advanceUntil(what string, condition func() bool) {
	n.t.Helper()
	hubtest.WaitUntil(n.t, what, func() bool {
		n.clock.advanceToWork(20 * time.Millisecond)
		return condition()
	})
}

// awaitEvents waits for a number of events and returns the last one of each platform.
func (n *publishClient) awaitEvents(count int) map[string]map[string]any {
	n.t.Helper()
	n.advanceUntil(fmt.Sprint(count, " events"), func() bool { return len(n.callbacks.Arrivals()) >= count })
	last := map[string]map[string]any{}
	for _, arrival := range n.callbacks.Arrivals() {
		var body map[string]any
		require.NoError(n.t, json.Unmarshal(arrival.Body, &body))
		last[body["platform"].(string)] = body
	}
	return last
}

// settle moves the clock until no publication and no event is pending.
func (n *publishClient) settle() []any {
	n.t.Helper()
	var list []any
	n.advanceUntil("nothing on the way", func() bool {
		list = n.ok("GET", publicationsRoute, "").body["publications"].([]any)
		for _, one := range list {
			if one.(map[string]any)["due_at"] != nil {
				return false
			}
		}
		return len(n.ok("GET", "/external/api/v1/deliveries/?event_type=hub_menu_publish&state=pending",
			"").body["deliveries"].([]any)) == 0
	})
	return list
}

const soup = `{"items":[{"ref_id":"soup","title":"Soup","price":5}]}`
