package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// stage is the installation and everybody around it.
type stage struct {
	t           *testing.T
	dir         string
	began       time.Time
	cluster     *cluster
	hubs        []*hub
	balancer    *wire
	watching    chan struct{} // closed when the balancer's watchers are to end
	watchers    sync.WaitGroup
	unwatch     func()
	aggregators *aggregators
	pos, second *endpoint // of the business that works
	picky       *endpoint // of the one that refuses orders of odd ids

	who, refuser tenant
	load         *load
	idle         map[*hub]level
	plugin       int // whose turn it is to be killed

	faults    map[string]int
	failovers []time.Duration
	recovery  []time.Duration
}

// level is what a hub holds while nothing is to be done.
type level struct{ goroutines, sockets int }

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, dir: scratch(t), began: time.Now(), faults: map[string]int{}, idle: map[*hub]level{},
		watching: make(chan struct{})}
	program, plugins := build(t, s.dir, *length >= skewedFrom)
	s.tell("built")
	s.cluster = startCluster(t, s.dir)
	s.aggregators = newAggregators(t)
	env := environment{
		"SERVERY_DATABASE_URL=" + s.cluster.url(), "SERVERY_SECRET_KEY=" + hubtest.SecretKey,
		"SERVERY_PLUGIN_DIR=" + plugins,
		"SERVERY_WEBHOOK_ALLOW=127.0.0.0/8", "SERVERY_SIMULATOR=" + s.aggregators.url, "SERVERY_DELIVERY_LEASE=10s",
		"SERVERY_JOB_LEASE=3s",
	}
	for _, throttle := range []string{"STORES", "MENU", "WEBHOOKS", "RETRY", "READ", "OPERATIONS", "ORDER_UPDATES",
		"SWITCHES", "CALLBACKS", "RIDER"} {
		env = append(env, "SERVERY_LIMIT_"+throttle+"=off")
	}
	s.who, s.refuser = newTenant(t, program, env), newTenant(t, program, env)
	s.unwatch = sync.OnceFunc(func() {
		close(s.watching)
		s.watchers.Wait()
	})
	t.Cleanup(func() {
		s.unwatch()
		s.tellLogs()
	})
	// One does everything; the other two have what one accepts carried out by the other.
	for n, roles := range []string{"api,worker,console", "api", "worker"} {
		h := newHub(t, s.dir, fmt.Sprintf("hub%d", n+1), program, roles, env)
		h.clock = []string{"0s", "95s", "-40s"}[n]
		s.hubs = append(s.hubs, h)
		h.start()
		h.awaitReady()
		s.watchers.Go(func() { watch(h, s.watching) })
	}
	s.balancer = newWire(t, balance(s.hubs[:2])) // those with an API
	s.aggregators.play(t, program, env.with("SERVERY_BASE_URL=http://"+s.balancer.address))
	s.pos, s.second, s.picky = newEndpoint(t), newEndpoint(t), newEndpoint(t)
	s.open()
	s.tell("everything is up")
	return s
}

// tell logs how far the run is.
func (s *stage) tell(format string, args ...any) {
	s.t.Logf("%6.1f s  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// newTenant makes a business whose day is in its middle: an order retry looks no
// further back than the day.
func newTenant(t *testing.T, program string, env environment) tenant {
	t.Helper()
	zone := fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) // whose sign is the other way round
	if zone == "Etc/GMT+0" {
		zone = "Etc/GMT"
	}
	var business struct{ ID int64 }
	commandJSON(t, program, env, &business, "business", "create", "--name", "Test Kitchen", "--country", "US",
		"--timezone", zone, "--currency", "USD", "--sandbox")
	key := func(scope string) string {
		var made struct {
			APIKey string `json:"api_key"`
		}
		commandJSON(t, program, env, &made, "key", "create", "--business", strconv.FormatInt(business.ID, 10),
			"--username", scope, "--scope", scope)
		return "apikey " + scope + ":" + made.APIKey
	}
	return tenant{business.ID, key("pos"), key("channel")}
}

// open makes webhooks, a store and a menu, and sees what idle hubs hold.
func (s *stage) open() {
	s.t.Helper()
	l := &load{base: "http://" + s.balancer.address, client: http.DefaultClient}
	for _, event := range []string{"order_placed", "order_status_update", "rider_status_update", "store_creation",
		"inventory_update", "webhook_retry"} {
		s.subscribe(l, s.who, event, s.pos)
	}
	s.subscribe(l, s.who, "order_placed", s.second)
	s.subscribe(l, s.refuser, "order_placed", s.picky)
	s.subscribe(l, s.refuser, "webhook_retry", s.picky)
	for _, who := range []tenant{s.who, s.refuser} {
		l.mustCall(s.t, storesPath, who.pos,
			`{"stores":[{"ref_id":"S-1","name":"Harbour","city":"Oakland","excluded_platforms":[]}]}`)
		eventually(s.t, patience, func() error {
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
		s.idle[h] = level{n, sockets(h.process.Process.Pid)}
	}
}

func (s *stage) subscribe(l *load, who tenant, event string, at *endpoint) {
	s.t.Helper()
	var made struct{ Secret string }
	status, err := l.send("POST", webhooksPath, who.pos,
		fmt.Sprintf(`{"event_type":%q,"url":"http://%s/%s","retrial_interval_units":"seconds"}`, event, at.wire.address,
			event), &made)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, status)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.secrets = append(slices.Clone(at.secrets), made.Secret)
}

// undone tells what hubs have still to do; nothing: the empty text.
const undone = `SELECT coalesce(string_agg(n || ' ' || what, ', '), '') FROM (
	SELECT count(*) AS n, 'deliveries' AS what FROM delivery_queue UNION ALL SELECT count(*), 'jobs' FROM job_queue
	UNION ALL SELECT count(*), 'calls' FROM calls WHERE state = 'waiting'
	UNION ALL SELECT count(*), 'publications' FROM publications WHERE available_at < 'infinity') AS queues WHERE n > 0`

// drain waits until the hubs have done all that there is to do.
func (s *stage) drain() {
	s.t.Helper()
	eventually(s.t, 2*patience, func() error {
		var left string
		if err := s.cluster.primary.Load().ask(&left, undone); err != nil || left == "" {
			return err
		}
		return fmt.Errorf("still to be done: %s", left)
	})
}

// refuseSome brings orders to the business whose endpoint refuses every other.
func (s *stage) refuseSome() {
	s.picky.refusing.Store(true)
	for n := range 10 {
		_, placed := s.load.place(s.refuser, fmt.Sprintf("R-%d", n), "web")
		require.True(s.t, placed)
	}
}

// stop ends hubs and simulator as an operator would.
func (s *stage) stop() {
	s.t.Helper()
	s.unwatch()
	for _, h := range s.hubs {
		if err := h.terminate(); err != nil {
			s.t.Error(err)
		}
	}
	if err := s.aggregators.stop(); err != nil {
		s.t.Error(err)
	}
}

// tellLogs shows, after a failure, what the hubs wrote last.
func (s *stage) tellLogs() {
	if !s.t.Failed() {
		return
	}
	for _, h := range s.hubs {
		s.t.Logf("%s wrote last:\n%s", h.name, tail(h.log))
	}
	s.t.Logf("again: make chaos CHAOS_FLAGS='--for=%v --seed=%d'", *length, *seed)
}
