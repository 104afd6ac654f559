package hub

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/plugintest"
)

// linkClient is a business with the platform linked, whose webhooks only have links to orders.
type linkClient struct {
	*orderClient
	*httptest.Server // of the aggregator
	sam              *browser

	mu       sync.Mutex
	requests []string // path and Authorization
	respond  func(n int, path string) (status int, body string)
}

func newLinkClient(t *testing.T, respond func(n int, path string) (int, string)) *linkClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "linked", "./testdata/linked")
	a := newPluginAPI(t, dir, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	l := &linkClient{orderClient: newOrderClientAt(newMenuClientAt(t, a)), respond: respond}
	l.hub.mountPages("http://example.com", 0)
	l.sam = l.user(t, "sam@example.com", access.Admin)
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	require.NoError(t, platforms.New(l.hub.db).Set(t.Context(), l.tenant.ID,
		core.Platform{Name: "linked", ServedBy: "linked"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": l.URL}
			a.Secrets = map[string]string{"webhook_key": "the-webhook-key", "api_key": "the-api-key"}
			return nil
		}))
	return l
}

func (l *linkClient) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.requests = append(l.requests, r.URL.Path+" "+r.Header.Get("Authorization"))
	status, body := l.respond(len(l.requests), r.URL.Path)
	l.mu.Unlock()
	if status == 0 { // it hangs up
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func (l *linkClient) seen() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.requests...)
}

// event sends a webhook of the aggregator.
func (l *linkClient) event(body string) apiResponse {
	l.t.Helper()
	m := marketClient{orderClient: l.orderClient} // which does not check the response, as it is that of the plugin
	return m.post(fmt.Sprintf("/channel/api/v1/linked/callback/events/?business=%d", l.tenant.ID), "application/json",
		body, map[string]string{"X-Key": "the-webhook-key"})
}

func (l *linkClient) link(id string) apiResponse {
	l.t.Helper()
	return l.event(fmt.Sprintf(`{"type":"created","id":%q,"link":"%s/orders/%s?page=1"}`, id, l.URL, id))
}

// listed waits for a number of orders and returns them.
func (l *linkClient) listed(n int) (text string) {
	l.t.Helper()
	l.advanceUntil(fmt.Sprint(n, " orders"), func() bool {
		response := l.ok("GET", ordersRoute, "")
		text = response.text
		return len(response.body["orders"].([]any)) == n
	})
	return text
}

func (l *linkClient) advanceUntil(what string, condition func() bool) {
	l.t.Helper()
	hubtest.WaitUntil(l.t, what, func() bool {
		l.clock.advanceToWork(20 * time.Millisecond)
		return condition()
	})
}

// requireRejected waits for a rejected order on the console, with its reason.
func (l *linkClient) requireRejected(id, why string) {
	l.t.Helper()
	l.advanceUntil("the rejected order "+id+": "+why, func() bool {
		page := l.sam.get(l.t, shell.BusinessLink(l.tenant.ID, "orders/refused/?id="+id)).text
		return strings.Contains(html.UnescapeString(page), why)
	})
	require.Equal(l.t, shell.BusinessLink(l.tenant.ID, "orders/refused/?id="+id),
		l.sam.get(l.t, shell.SearchPath+"?q="+id).header.Get("Location"))
}

func linkedOrder(path string) string {
	return fmt.Sprintf(`{"id":%q,"store":"s1","item":"dal","name":"Wilhelmina"}`, filepath.Base(path))
}

func TestLinkPluginPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "linked", "./testdata/linked")
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "linked", "linked"), ""), plugintest.Options{})
}

func TestOrderArrivesByItsLink(t *testing.T) {
	failures := []int{404, 500, 0}
	l := newLinkClient(t, func(n int, path string) (int, string) {
		if n <= len(failures) {
			return failures[n-1], "not yet"
		}
		return 200, linkedOrder(path)
	})
	for range 3 { // repeats of a waiting request are not stored
		taken := l.link("L-1")
		require.Equal(t, []any{202, "thanks"}, []any{taken.status, taken.text})
	}
	require.Contains(t, l.listed(1), `"L-1"`)
	require.Equal(t, 200, l.event(`{"type":"ping"}`).status)
	requests := l.seen()
	require.Equal(t, "/orders/L-1 Bearer the-api-key", requests[3])

	recorded := ""
	l.advanceUntil("the record", func() bool {
		recorded = pgtest.CallAttemptsText(t, l.hub.db)
		return strings.Count(recorded, "/orders/L-1?page=1") >= 4
	})
	require.NotContains(t, recorded, "Wilhelmina", "the order has the content")
	require.NotContains(t, recorded, "the-api-key")

	l.link("L-1") // a repeat is fetched, and changes nothing
	l.advanceUntil("the second fetch", func() bool { return len(l.seen()) > len(requests) })
	l.link("L-2")
	require.Contains(t, l.listed(2), `"L-2"`)
	var waiting, stored int
	l.advanceUntil("the end of the calls", func() bool {
		require.NoError(t, l.hub.db.Bun().QueryRowContext(t.Context(),
			`SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE payload LIKE '%request%')
			FROM calls WHERE kind = ?`, relay.InboundFetch).Scan(&waiting, &stored))
		return waiting == 0
	})
	require.Zero(t, stored, "requests are removed when their calls are done")
}

func TestCancellationComesBeforeTheFetchedOrder(t *testing.T) {
	allowed := make(chan struct{})
	l := newLinkClient(t, func(_ int, path string) (int, string) {
		select {
		case <-allowed:
			return 200, linkedOrder(path)
		default:
			return 503, ""
		}
	})
	require.Equal(t, 202, l.link("L-1").status)
	cancelled := l.event(`{"type":"cancelled","id":"L-1"}`)
	require.Equal(t, 200, cancelled.status)
	require.Contains(t, cancelled.text, "cancelled when it arrives")
	close(allowed)
	l.advanceUntil("the cancelled order", func() bool {
		return strings.Contains(l.ok("GET", ordersRoute, "").text, `"Cancelled"`)
	})
}

func TestFailedFetchIsARejectedOrder(t *testing.T) {
	l := newLinkClient(t, func(_ int, path string) (int, string) {
		switch filepath.Base(path) {
		case "L-GONE":
			return 410, ""
		case "L-GARBAGE":
			return 200, "<html>"
		case "L-STORE":
			return 200, strings.Replace(linkedOrder(path), `"s1"`, `"nowhere"`, 1)
		}
		return 500, "down"
	})
	for id, why := range map[string]string{"L-GONE": "410 Gone",
		"L-GARBAGE": "fetching the order failed: plugin linked", "L-STORE": "there is no store with this ref_id",
		"L-DOWN": "500 Internal Server Error"} {
		require.Equal(t, 202, l.link(id).status)
		l.requireRejected(id, why)
	}
	l.listed(0)
}

func TestHostileLinksAreNeverFetched(t *testing.T) {
	l := newLinkClient(t, func(int, string) (int, string) { return 200, "{}" })
	for i, link := range []string{"https://evil.example/orders/1", "http://127.0.0.1.evil.example/",
		"http://[::1]:1/", "http://127.0.0.2/", "http://2130706433/", "http://127.0.0.1@evil.example/",
		"file:///etc/passwd", "//evil.example/", "http://127.0.0.1:80@evil.example/", "http://"} {
		id := fmt.Sprintf("L-EVIL-%d", i)
		refused := l.event(fmt.Sprintf(`{"type":"created","id":%q,"link":%q}`, id, link))
		require.Equal(t, 400, refused.status, refused.text)
		l.requireRejected(id, "the link of the request")
	}
	require.Empty(t, l.seen())
	require.Empty(t, pgtest.CallAttemptsText(t, l.hub.db))
}

func TestResponseToAnActionChangesTheOrder(t *testing.T) {
	l := newLinkClient(t, func(_ int, path string) (int, string) {
		if strings.HasSuffix(path, "/double") {
			return 200, `{"id":"L-1","store":"s1","item":"dal","quantity":2}`
		}
		return 200, linkedOrder(path)
	})
	l.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_updated","url":%q}`, l.orders.URL))
	require.Equal(t, 202, l.link("L-1").status)
	l.listed(1)
	listed := l.ok("GET", ordersRoute, "").body["orders"].([]any)[0]
	id := int64(hubtest.Lookup(listed, "order_id").(float64))
	queued := l.ok("POST", fmt.Sprintf(actionRoute, "linked"), fmt.Sprintf(`{"order_id":%d,"action":"double"}`, id))
	l.advanceUntil("the outcome of the action", func() bool {
		read := l.ok("GET", fmt.Sprintf("/external/api/v1/actions/%s/", queued.body["reference"]), "")
		return read.body["state"] == "done"
	})
	items := hubtest.Lookup(l.ok("GET", oneOrder(id), "").body, "order.items")
	require.Equal(t, 2.0, hubtest.Lookup(element(items, 0), "quantity"))
	event := l.awaitOrderEvents(2)[1]
	require.Equal(t, []any{"L-1", "doubled"}, []any{hubtest.Lookup(event, "update.change_id"),
		hubtest.Lookup(event, "update.reason")})
}
