package chaos

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// chaosRun is the installation under test with its environment.
type chaosRun struct {
	t            *testing.T
	dir          string
	began        time.Time
	cluster      *cluster
	hubs         []*hub
	balancer     *proxy
	watching     chan struct{} // closed to stop the balancer's probes
	watchers     sync.WaitGroup
	stopWatching func()
	aggregators  *aggregators
	pos, second  *endpoint // of the business under load
	rejecting    *endpoint // of the business whose endpoint rejects orders with odd ids

	tenant, rejectingTenant tenant
	load                    *load
	idle                    map[*hub]idleUsage
	plugin                  int // index of the plugin to kill next

	faults    map[string]int
	failovers []time.Duration
	recovery  []time.Duration
}

// idleUsage is what an idle hub uses.
type idleUsage struct{ goroutines, sockets int }

func newChaosRun(t *testing.T) *chaosRun {
	t.Helper()
	dir := hubtest.OpenDir(t, "c", *keep) // short, because it is part of socket paths
	s := &chaosRun{t: t, dir: dir, began: time.Now(), faults: map[string]int{}, idle: map[*hub]idleUsage{},
		watching: make(chan struct{})}
	program, plugins := build(t, s.dir, *length >= skewedFrom)
	s.log("built")
	s.cluster = startCluster(t, s.dir)
	s.aggregators = newAggregators(t)
	env := hubtest.HubEnvironment(s.cluster.url(), "STORES", "MENU", "WEBHOOKS", "RETRY", "READ", "OPERATIONS",
		"ORDER_UPDATES", "SWITCHES", "CALLBACKS", "RIDER").With("SERVERY_PLUGIN_DIR", plugins,
		"SERVERY_SIMULATOR", s.aggregators.url, "SERVERY_DELIVERY_LEASE", "10s", "SERVERY_JOB_LEASE", "3s")
	s.tenant, s.rejectingTenant = newTenant(t, program, env), newTenant(t, program, env)
	s.stopWatching = sync.OnceFunc(func() {
		close(s.watching)
		s.watchers.Wait()
	})
	t.Cleanup(func() {
		s.stopWatching()
		s.showLogs()
	})
	// One hub has all roles. Of the other two, one accepts requests and the other processes them.
	for n, roles := range []string{"api,worker,console", "api", "worker"} {
		h := newHub(t, filepath.Join(s.dir, fmt.Sprintf("hub%d", n+1)), program, roles, env)
		h.clock = []string{"0s", "95s", "-40s"}[n]
		s.hubs = append(s.hubs, h)
		h.start()
		s.watchers.Go(func() { watchReadiness(h, s.watching) })
	}
	s.balancer = newProxy(t, newBalancer(s.hubs[:2])) // hubs with the role api
	s.aggregators.program, s.aggregators.env = program, env.With("SERVERY_BASE_URL", "http://"+s.balancer.address)
	s.aggregators.start(t)
	s.pos, s.second, s.rejecting = newEndpoint(t), newEndpoint(t), newEndpoint(t)
	s.open()
	s.log("everything is up")
	return s
}

// log logs the progress.
func (s *chaosRun) log(format string, args ...any) {
	s.t.Logf("%6.1f s  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// newTenant creates a business in a time zone where it is about noon, because an order retry is limited to the current
// day.
func newTenant(t *testing.T, program string, env hubtest.Environment) tenant {
	t.Helper()
	zone := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // Etc/GMT zones have inverted signs
	if zone == "Etc/GMT+0" {
		zone = "Etc/GMT"
	}
	var business struct{ ID int64 }
	hubtest.RunJSON(t, program, env, &business, "business", "create", "--name", "Test Kitchen", "--country", "US",
		"--timezone", zone, "--currency", "USD", "--sandbox")
	key := func(scope string) string {
		var made struct {
			APIKey string `json:"api_key"`
		}
		hubtest.RunJSON(t, program, env, &made, "key", "create", "--business", strconv.FormatInt(business.ID, 10),
			"--username", scope, "--scope", scope)
		return "apikey " + scope + ":" + made.APIKey
	}
	return tenant{business.ID, key("pos"), key("channel")}
}

// open creates webhooks, a store and a menu, and measures the idle hubs.
func (s *chaosRun) open() {
	s.t.Helper()
	l := &load{base: "http://" + s.balancer.address, client: http.DefaultClient, slowClient: http.DefaultClient}
	for _, event := range []string{"order_placed", "order_status_update", "rider_status_update", "store_creation",
		"inventory_update", "webhook_retry"} {
		s.subscribe(l, s.tenant, event, s.pos)
	}
	s.subscribe(l, s.tenant, "order_placed", s.second)
	s.subscribe(l, s.rejectingTenant, "order_placed", s.rejecting)
	s.subscribe(l, s.rejectingTenant, "webhook_retry", s.rejecting)
	for _, who := range []tenant{s.tenant, s.rejectingTenant} {
		l.mustCall(s.t, storesPath, who.pos,
			`{"stores":[{"ref_id":"S-1","name":"Harbour","city":"Oakland","excluded_platforms":[]}]}`)
		eventually(s.t, waitTimeout, func() error {
			var store any
			if status, err := l.send("GET", storesPath+"S-1/", who.pos, "", &store); err != nil ||
				status != http.StatusOK {
				return fmt.Errorf("the store is not there: %d %w", status, err)
			}
			return nil
		})
		l.mustCall(s.t, menusPath+"S-1/", who.pos, menu(0))
	}
	s.drain()
	http.DefaultClient.CloseIdleConnections()
	for _, h := range s.hubs {
		n, err := h.goroutines()
		require.NoError(s.t, err)
		s.idle[h] = idleUsage{n, sockets(h.PID())}
	}
}

func (s *chaosRun) subscribe(l *load, who tenant, event string, at *endpoint) {
	s.t.Helper()
	var made struct{ Secret string }
	status, err := l.send("POST", webhooksPath, who.pos,
		fmt.Sprintf(`{"event_type":%q,"url":"http://%s/%s","retrial_interval_units":"seconds"}`, event,
			at.proxy.address,
			event), &made)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.secrets = append(slices.Clone(at.secrets), made.Secret)
}

// pendingWork returns a description of the pending work of the hubs, or an empty text.
const pendingWork = `SELECT coalesce(string_agg(n || ' ' || what, ', '), '') FROM (
	SELECT count(*) AS n, 'deliveries' AS what FROM delivery_queue UNION ALL SELECT count(*), 'jobs' FROM job_queue
	UNION ALL SELECT count(*), 'calls' FROM calls WHERE state = 'waiting'
	UNION ALL SELECT count(*), 'publications' FROM publications WHERE available_at < 'infinity') AS queues WHERE n > 0`

// drain waits until the hubs have no pending work.
func (s *chaosRun) drain() {
	s.t.Helper()
	eventually(s.t, 2*waitTimeout, func() error {
		var left string
		if err := s.cluster.primary.Load().query(&left, pendingWork); err != nil || left == "" {
			return err
		}
		return fmt.Errorf("still to be done: %s", left)
	})
}

// placeRejectedOrders places orders of the business whose endpoint rejects every other one.
func (s *chaosRun) placeRejectedOrders() {
	s.rejecting.rejecting.Store(true)
	for n := range 10 {
		_, placed := s.load.place(s.rejectingTenant, fmt.Sprintf("R-%d", n), "web")
		require.True(s.t, placed)
	}
}

// stop stops hubs and simulator.
func (s *chaosRun) stop() {
	s.t.Helper()
	s.stopWatching()
	for _, h := range s.hubs {
		h.terminate()
	}
	s.aggregators.Stop(s.t, syscall.SIGTERM)
}

// showLogs logs the last output of the hubs after a failure.
func (s *chaosRun) showLogs() {
	if !s.t.Failed() {
		return
	}
	for _, h := range s.hubs {
		s.t.Logf("%s wrote last:\n%s\n%s", h.name, lastErrors(h.stderr), lastErrors(h.log))
	}
	s.t.Logf("again: make chaos CHAOS_FLAGS='--for=%v --seed=%d'", *length, *seed)
}
