// Package compat tests clients that were written for other hubs of this kind. Each file is one family of clients, with
// the requests and receivers of its language and HTTP library. The guide adminui/reference/guides/moving.md promises
// what they need. Each test names the promise that it checks.
//
// All families share one hub, and each test creates its own business.
package compat

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hub"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/plugins/simulator"
	"github.com/servery-hub/servery/web"
)

// portal is the allowed origin of web pages.
const portal = "https://portal.example.com"

var plugins = []string{"aggregator-a", "aggregator-b", "aggregator-c"}

func TestMain(m *testing.M) {
	hubtest.Main(m, stopHub, installtest.RemoveAll)
}

// runningHub is the hub of all tests, with the aggregators that it calls.
type runningHub struct {
	hubURL     string
	db         *postgres.DB
	simulator  *simulator.Simulator
	aggregator string // URL of the simulator
}

var (
	startHub sync.Once
	shared   *runningHub
	ends     []func() // what stopHub calls, in reverse
)

// sharedHub returns the hub of all tests. The first test starts it.
func sharedHub(t *testing.T) *runningHub {
	t.Helper()
	url := hubtest.SharedDatabaseURL(t)
	startHub.Do(func() {
		h := &runningHub{}
		h.start(t, url)
		shared = h
	})
	require.NotNil(t, shared, "the hub did not start")
	return shared
}

func stopHub() {
	for len(ends) > 0 {
		end := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		end()
	}
}

func (h *runningHub) start(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "servery-compat-")
	require.NoError(t, err)
	ends = append(ends, func() { _ = os.RemoveAll(dir) })
	for _, id := range plugins {
		installtest.Plugin(t, dir, id, "../../../plugins/"+strings.ReplaceAll(id, "-", ""))
	}
	h.db, err = postgres.Open(ctx, postgres.Config{URL: url, Application: "servery-test", Log: hubtest.Logger()})
	require.NoError(t, err)
	ends = append(ends, func() { _ = h.db.Close() })
	sealer, err := seal.New(hubtest.SecretKey)
	require.NoError(t, err)
	h.db.UseSealer(sealer)
	require.NoError(t, schema.Maintain(ctx, h.db, 30*24*time.Hour))
	host, metrics, err := hub.OpenPlugins(ctx, hub.PluginsConfig{Dir: dir, Log: hubtest.Logger()}, h.db)
	require.NoError(t, err)
	ends = append(ends, host.Close)
	aggregator.AwaitSettled(ctx, host.Host, time.Minute)

	config := settings()
	config.CORSOrigins = []string{portal}
	config.Host, config.PluginMetrics, config.Plugins = host, metrics, host
	config.Platforms = platforms.New(h.db)
	config.IngestPolicy.Vocabulary = host
	listener := h.listen(t)
	h.hubURL = "http://" + listener.Addr().String()
	background(func(ctx context.Context) { _ = hub.New(config, h.db, hubtest.Logger()).Run(ctx, listener) })
	h.simulate(t)
}

// settings returns those of a hub without rate limits, which publishes menus at once.
func settings() hub.Config {
	config := hub.Defaults()
	config.Version, config.Roles = "test", []string{hub.RoleAPI, hub.RoleWorker}
	config.Limits = map[web.Limit]limit.Rule{}
	config.Debounce = publish.Debounce{Quiet: 20 * time.Millisecond, Max: 100 * time.Millisecond}
	config.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return config
}

// simulate starts the aggregators.
func (h *runningHub) simulate(t *testing.T) {
	t.Helper()
	listener := h.listen(t)
	h.aggregator = "http://" + listener.Addr().String()
	var err error
	h.simulator, err = simulator.New(simulator.Config{Directory: sandbox.NewAccounts(h.db, h.aggregator, h.hubURL)})
	require.NoError(t, err)
	background(func(ctx context.Context) { _ = h.simulator.Serve(ctx, listener) })
}

func (h *runningHub) listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// background runs until stopHub.
func background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	ends = append(ends, func() {
		cancel()
		<-ended
	})
}
