package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// pagedAggregator has pages of orders, one for each cursor. Some requests never get a response.
type pagedAggregator struct {
	mu      sync.Mutex
	asked   []int       // the cursors of the requests
	stops   map[int]int // a page: how often its request does not get a response
	stopped chan int
}

const orderPages, ordersPerPage = 4, 3

func (g *pagedAggregator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/orders" {
		fmt.Fprint(w, `{"job":"j-1"}`)
		return
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("after"))
	g.mu.Lock()
	g.asked = append(g.asked, page)
	stop := g.stops[page] > 0
	g.stops[page]--
	g.mu.Unlock()
	if stop {
		g.stopped <- page
		<-r.Context().Done()
		return
	}
	orders := ""
	for n := 0; page < orderPages && n < ordersPerPage; n++ {
		orders += fmt.Sprintf(`{"id":"P-%d-%d","store":"s1","item":"dal"},`, page, n)
	}
	fmt.Fprintf(w, `{"orders":[%s],"next":"%d","more":%t}`, orders[:max(len(orders)-1, 0)], min(page+1, orderPages),
		page+1 < orderPages)
}

// startPluginHub starts a hub with a plugin, which serves the platform p of a business. The flags are those of
// `platform set`. The business has the store s1 with the item dal.
func startPluginHub(t *testing.T, plugin string, flags ...string) (*hubtest.Hub, environment, apiClient) {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, plugin, "../../internal/hub/testdata/"+plugin)
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", dir)
	hub := startHub(t, env)
	who := newAPIClient(t, env)
	prepareRiders(t, env, hub, who, 0)
	set := servery(t, env, append([]string{"platform", "set", fmt.Sprint("--business=", who.business), "p",
		"--plugin=" + plugin}, flags...)...)
	require.Zero(t, set.status, set.stderr)
	return hub, env, who
}

func TestKilledHubLosesNoPolledOrder(t *testing.T) {
	g := &pagedAggregator{stops: map[int]int{1: 1, 3: 2}, stopped: make(chan int, 1)}
	aggregator := httptest.NewServer(g)
	t.Cleanup(aggregator.Close)
	hub, env, who := startPluginHub(t, "polled", "--endpoint=api="+aggregator.URL, "--secret=api_key=k")
	hub.Kill()
	hub = startHub(t, env) // which schedules the polls of the new platform at once
	ledger := openTestDatabase(t, env["SERVERY_DATABASE_URL"])
	for range 3 {
		eventually(t, waitTimeout, func() error { // instead of a random time of the first minute
			due, err := ledger.db.ExecContext(t.Context(),
				`UPDATE call_queue SET available_at = now() WHERE kind = 'poll' AND ordering_key LIKE '%orders%'
					AND owner IS NULL`)
			require.NoError(t, err)
			select {
			case <-g.stopped:
				return nil
			case <-time.After(200 * time.Millisecond):
				n, _ := due.RowsAffected()
				return fmt.Errorf("no request has stopped; %d polls were due", n)
			}
		})
		hub.Kill()
		hub = startHub(t, env)
	}
	eventually(t, waitTimeout, func() error {
		response := hubtest.Call(t, "GET", hub.URL+"/external/api/v1/orders/?limit=100", who.authorization, nil)
		require.Equal(t, http.StatusOK, response.Status)
		listed := response.Object(t)["orders"].([]any)
		if len(listed) < orderPages*ordersPerPage {
			_, err := ledger.db.ExecContext(t.Context(),
				`UPDATE call_queue SET available_at = now() WHERE kind = 'poll' AND owner IS NULL`)
			require.NoError(t, err)
			return fmt.Errorf("%d orders have arrived", len(listed))
		}
		require.Len(t, listed, orderPages*ordersPerPage, "no order arrives twice")
		return nil
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Equal(t, []int{0, 1, 1, 2, 3, 3, 3}, g.asked[:7], "each run continues at the stored cursor")
}
