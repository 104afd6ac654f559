package hub

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
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

// pollClient is a business with the platform p, whose aggregator has no webhooks.
type pollClient struct {
	*orderClient
	*httptest.Server // of the aggregator
	sam              *browser

	mu       sync.Mutex
	requests []string // path and query, those of polls only
	respond  func(n int, target string) (status int, body string)
}

func newPollClient(t *testing.T, respond func(n int, target string) (int, string)) *pollClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "polled", "./testdata/polled")
	a := newPluginAPI(t, dir, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	p := &pollClient{orderClient: newOrderClientAt(newMenuClientAt(t, a)), respond: respond}
	p.hub.mountPages("http://example.com", 0)
	p.sam = p.user(t, "sam@example.com", access.Admin)
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	require.NoError(t, platforms.New(p.hub.db).Set(t.Context(), p.tenant.ID,
		core.Platform{Name: "p", ServedBy: "polled"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": p.URL}
			a.Secrets = map[string]string{"api_key": "the-api-key"}
			return nil
		}))
	p.schedule()
	return p
}

func (p *pollClient) schedule() {
	p.t.Helper()
	require.NoError(p.t, p.hub.schedulePolls(p.t.Context()))
}

func (p *pollClient) serve(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	if r.Method == http.MethodGet {
		p.requests = append(p.requests, r.URL.RequestURI())
		n = p.count(r.URL.Path)
	}
	status, body := p.respond(n, r.URL.RequestURI())
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// count returns how often a path was requested.
func (p *pollClient) count(path string) (n int) {
	for _, r := range p.requests {
		if requested, _, _ := strings.Cut(r, "?"); requested == path {
			n++
		}
	}
	return n
}

// polls returns the requests of polls to a path.
func (p *pollClient) polls(path string) (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if strings.HasPrefix(r, path) {
			list = append(list, r)
		}
	}
	return list
}

func (p *pollClient) advanceUntil(what string, condition func() bool) {
	p.t.Helper()
	hubtest.WaitUntil(p.t, what, func() bool {
		p.clock.advanceToWork(20 * time.Millisecond)
		return condition()
	})
}

func (p *pollClient) awaitPolls(path string, n int) []string {
	p.t.Helper()
	p.advanceUntil(fmt.Sprint(n, " polls of ", path), func() bool { return len(p.polls(path)) >= n })
	return p.polls(path)
}

// pollState is the record of a poll.
type pollState struct {
	cursor, message string
	failures        int
	failed          bool
	due             time.Time
}

// state returns the record of a poll.
func (p *pollClient) state(name string) (s pollState) {
	p.t.Helper()
	require.NoError(p.t, p.hub.db.Bun().QueryRowContext(p.t.Context(),
		`SELECT cursor, message, failures, failed, due_at FROM polls
		JOIN call_queue queued ON queued.ordering_key = 'poll:p/' || poll || '/' || store_id
		WHERE polls.business_id = ? AND poll = ?`, p.tenant.ID, name).
		Scan(&s.cursor, &s.message, &s.failures, &s.failed, &s.due))
	return s
}

func (p *pollClient) awaitOrders(n int) (text string) {
	p.t.Helper()
	p.advanceUntil(fmt.Sprint(n, " orders"), func() bool {
		response := p.ok("GET", ordersRoute, "")
		text = response.text
		return len(response.body["orders"].([]any)) == n
	})
	return text
}

func polledOrder(id string) string {
	return fmt.Sprintf(`{"ID":%q,"Store":"s1","Item":"dal","Name":"Wilhelmina"}`, id)
}

// ordersOnly responds to the poll orders, and accepts everything else.
func ordersOnly(respond func(n int) (int, string)) func(int, string) (int, string) {
	return func(n int, target string) (int, string) {
		if strings.HasPrefix(target, "/orders?") {
			return respond(n)
		}
		return 200, `{"Job":"J-1","ID":"J-1","State":"running"}`
	}
}

func TestPollPluginPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "polled", "./testdata/polled")
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "polled", "polled"), ""), plugintest.Options{})
}

func TestPolledOrdersArriveOnce(t *testing.T) {
	p := newPollClient(t, func(n int, target string) (int, string) {
		switch {
		case strings.HasPrefix(target, "/orders/L-1"):
			return 200, polledOrder("L-1")
		case !strings.HasPrefix(target, "/orders?"):
			return 200, `{"Job":"J-1","ID":"J-1","State":"running"}`
		case n == 1:
			return 200, `{"Orders":[` + polledOrder("P-1") +
				`,{"ID":"L-1","Link":"/orders/L-1"}],"Next":"c1","More":true}`
		case n == 2: // P-1 is still listed, with the new one
			return 200, `{"Orders":[` + polledOrder("P-1") + `,` + polledOrder("P-2") + `],"Next":"c2"}`
		}
		return 200, `{"Orders":[` + polledOrder("P-1") + `,{"ID":"P-2","Cancelled":true}],"Next":"c2"}`
	})
	require.Contains(t, p.awaitOrders(3), `"L-1"`)
	require.Equal(t, []string{"/orders?after=", "/orders?after=c1"}, p.polls("/orders?")[:2])
	p.advanceUntil("the cancellation", func() bool {
		return strings.Contains(p.ok("GET", ordersRoute, "").text, `"Cancelled"`)
	})
	p.awaitPolls("/orders?after=c2", 3)
	require.Equal(t, "c2", p.state("orders").cursor)
	require.Zero(t, p.state("orders").failures)
	p.awaitOrders(3)
	placed := 0
	for _, event := range p.awaitOrderEvents(4) { // three orders, and a cancellation
		if _, ok := event["customer"]; ok {
			placed++
		}
	}
	require.Equal(t, 3, placed, "a repeat makes no second event")
	require.NotContains(t, pgtest.CallAttemptsText(t, p.hub.db), "Wilhelmina")
	var stored, handled int
	p.advanceUntil("the end of the calls", func() bool {
		require.NoError(t, p.hub.db.Bun().QueryRowContext(t.Context(), `SELECT count(*),
			count(*) FILTER (WHERE payload LIKE '%request%') FROM calls WHERE kind = ?`, relay.InboundFetch).
			Scan(&handled, &stored))
		return stored == 0
	})
	require.Equal(t, 5, handled, "a message of the previous run is not handled again")

	p.advanceUntil("a run without the cursor of another plugin", func() bool {
		// A run that ends now stores its own plugin, so this is repeated.
		_, err := p.hub.db.Bun().ExecContext(t.Context(), `UPDATE polls SET plugin = 'another'`)
		require.NoError(t, err)
		return slices.Contains(p.polls("/orders?")[1:], "/orders?after=")
	})
}

func TestFailedPollKeepsItsCursorAndSlowsDown(t *testing.T) {
	status := 500
	p := newPollClient(t, nil)
	var last time.Time // of the requests
	p.respond = ordersOnly(func(n int) (int, string) {
		last = p.clock.Now()
		switch {
		case n == 1:
			return 200, `{"Orders":[],"Next":"c1"}`
		case n < 8:
			return status, "down"
		case n == 8:
			return 200, "<html>"
		}
		return 200, `{"Orders":[` + polledOrder("P-1") + `],"Next":"c2"}`
	})
	p.awaitPolls("/orders?after=c1", 6)
	p.advanceUntil("the failed run", func() bool { return p.state("orders").failures == 1 })
	failed := p.state("orders")
	p.mu.Lock()
	pause := failed.due.Sub(last)
	p.mu.Unlock()
	require.Greater(t, pause, 100*time.Second, "twice the period")
	require.True(t, failed.failed)
	require.Equal(t, "c1", failed.cursor)
	require.Contains(t, failed.message, "500 Internal Server Error")

	page := html.UnescapeString(p.sam.get(t, shell.BusinessLink(p.tenant.ID, "settings/platform/?name=p")).text)
	require.Contains(t, page, "500 Internal Server Error")
	p.awaitOrders(1)
	p.advanceUntil("success", func() bool { return p.state("orders").cursor == "c2" })
	require.Zero(t, p.state("orders").failures)
}

func TestPendingJobIsPolledUntilItIsDone(t *testing.T) {
	p := newPollClient(t, nil)
	done := make(chan struct{})
	p.respond = func(_ int, target string) (int, string) {
		switch {
		case strings.HasPrefix(target, "/orders?"):
			return 200, `{"Orders":[]}`
		case strings.HasPrefix(target, "/jobs/"):
			select {
			case <-done:
				return 200, `{"ID":"J-1","State":"done"}`
			default:
			}
		}
		return 200, `{"Job":"J-1","ID":"J-1","State":"running"}`
	}
	publication := func() map[string]any {
		list := p.ok("GET", publicationsRoute+"?platform=p", "").body["publications"].([]any)
		if len(list) == 0 {
			return map[string]any{}
		}
		return list[0].(map[string]any)
	}
	p.ok("POST", menuRoute+"s1/", menuOf("Soup"))
	p.awaitPolls("/jobs/J-1", 2)
	require.Equal(t, "waiting", publication()["status"])
	close(done)
	p.advanceUntil("the menu", func() bool { return publication()["status"] == "published" })
	polled := len(p.polls("/jobs/"))
	due := p.state("jobs").due
	p.advanceUntil("a run without a request", func() bool { return p.state("jobs").due.After(due) })
	require.Len(t, p.polls("/jobs/"), polled)
	require.Equal(t, "no outcome is pending", p.state("jobs").message)
}

func TestStoreIsPolledWhileThePlatformListsIt(t *testing.T) {
	p := newPollClient(t, ordersOnly(func(int) (int, string) { return 200, `{"Orders":[]}` }))
	p.awaitPolls("/stores/s1", 1)
	queued := func() (n int) {
		require.NoError(t, p.hub.db.Bun().QueryRowContext(t.Context(),
			`SELECT count(*) FROM call_queue WHERE ordering_key LIKE 'poll:p/stores/%'`).Scan(&n))
		return n
	}
	require.Equal(t, 1, queued())
	p.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","city":"C","name":"Two","excluded_platforms":["p"]}]}`)
	p.awaitCallback(3)
	p.schedule()
	require.Equal(t, 1, queued())
	p.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","excluded_platforms":[]}]}`)
	p.awaitCallback(4)
	p.advanceUntil("the poll of the listed store", func() bool { p.schedule(); return queued() == 2 })
	p.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","excluded_platforms":["p"]},
		{"ref_id":"s2","excluded_platforms":["p"]}]}`)
	p.awaitCallback(5)
	p.advanceUntil("the end of the poll", func() bool { // now, not in an hour
		_, err := p.hub.db.Bun().ExecContext(t.Context(), `UPDATE call_queue SET available_at = ?
			WHERE ordering_key LIKE 'poll:p/stores/%' AND owner IS NULL`, p.clock.Now())
		require.NoError(t, err)
		p.hub.relay.Wake()
		return queued() == 0
	})
	p.schedule()
	require.Zero(t, queued())
}

func TestPollOfAnotherReplicaIsNotStored(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	p := newPollClient(t, nil)
	p.respond = ordersOnly(func(n int) (int, string) {
		if n == 1 {
			close(reached)
			<-release
		}
		return 200, fmt.Sprintf(`{"Orders":[%s],"Next":"c%d"}`, polledOrder(fmt.Sprint("P-", n)), n)
	})
	p.advanceUntil("the first request", func() bool {
		select {
		case <-reached:
			return true
		default:
			return false
		}
	})
	_, err := p.hub.db.Bun().ExecContext(t.Context(), `UPDATE call_queue SET owner = ?
		WHERE ordering_key = 'poll:p/orders/0'`, core.NewID(p.clock.Now()))
	require.NoError(t, err)
	close(release)
	p.awaitPolls("/orders?after=", 2) // the lease of the other replica has ended
	require.NotContains(t, p.awaitOrders(1), `"P-1"`)
}
