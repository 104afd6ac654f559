package hub

import (
	"errors"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// Alerts use the share of failed responses. Probes outnumber other requests.
func TestRequestMetricsExcludeProbes(t *testing.T) {
	a := newAPI(t, nil)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json"} {
		require.Equal(t, 200, a.do(t, request{method: "GET", path: path}).status)
	}
	var routes []string
	page := a.do(t, request{method: "GET", path: "/metrics"}).text
	for _, row := range regexp.MustCompile(`(?m)^servery_http_request_duration_seconds_count\{.*route="([^"]*)"`).
		FindAllStringSubmatch(page, -1) {
		routes = append(routes, row[1])
	}
	require.Equal(t, []string{"/openapi.json"}, routes)
}

// slowCollector is a collector that waits. It counts how many reads of it run at a time.
type slowCollector struct {
	running, most atomic.Int32
	proceed       chan struct{}
}

func (*slowCollector) Describe(ch chan<- *prometheus.Desc) { ch <- consoleStreams }

func (s *slowCollector) Collect(ch chan<- prometheus.Metric) {
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	defer s.running.Add(-1)
	<-s.proceed
	ch <- prometheus.MustNewConstMetric(consoleStreams, prometheus.GaugeValue, 1)
}

func TestConcurrentScrapesShareOneReadOfMetrics(t *testing.T) {
	slow := &slowCollector{proceed: make(chan struct{})}
	proceed := sync.OnceFunc(func() { close(slow.proceed) })
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(slow)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/metrics", m.serve())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = app.Listener(listener) }()
	t.Cleanup(func() { require.NoError(t, app.Shutdown()) })
	t.Cleanup(proceed)
	var scrapes errgroup.Group
	for range 8 {
		scrapes.Go(func() error {
			response, err := http.Get("http://" + listener.Addr().String() + "/metrics")
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return errors.New(response.Status)
			}
			return nil
		})
	}
	require.Eventually(t, func() bool { return slow.running.Load() > 0 }, 20*time.Second, time.Millisecond)
	require.Never(t, func() bool { return slow.running.Load() > 1 }, 200*time.Millisecond, 5*time.Millisecond)
	proceed()
	require.NoError(t, scrapes.Wait())
	require.EqualValues(t, 1, slow.most.Load())
}

func TestMetricsCoverPluginsQueuesAndBatches(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	d.platform("tasty", "aggregator-a", "")
	d.ok("POST", "/external/api/v1/inventory/locations/-1/", soupMenu(lacking))
	d.awaitCallback(2)
	page := ""
	hubtest.WaitUntil(t, "no job is left", func() bool {
		page = d.do(t, request{method: "GET", path: "/metrics"}).text
		return strings.Contains(page, "servery_queue_depth{queue=\"jobs\",state=\"waiting\"} 0\n")
	})
	for _, line := range []string{
		`servery_build_info{go_version="` + runtime.Version() + `",version="` + "test" + `"} 1`,
		`servery_job_duration_seconds_count{kind="menu",outcome="failed"} 0`,
		`servery_plugin_call_duration_seconds_count{call="Menu.CheckItems",outcome="ok",plugin="aggregator-a"} 1`,
		`servery_plugin_state{plugin="aggregator-a",state="ready"} 1`,
		`servery_plugin_calls_in_flight{plugin="aggregator-a"} 0`,
		`servery_plugin_starts_total{plugin="aggregator-a"} 1`, `servery_batch_queue_depth{batch="orders"} 0`,
		`servery_batch_queue_depth{batch="order_states"} 0`,
		`servery_queue_oldest_age_seconds{queue="calls"} 0`,
	} {
		require.Contains(t, page, line+"\n")
	}
	require.Regexp(t, `servery_plugin_memory_bytes\{plugin="aggregator-a"\} [1-9]`, page)
}
