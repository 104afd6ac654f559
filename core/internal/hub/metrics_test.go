package hub

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
