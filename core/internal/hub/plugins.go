package hub

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/plugintap"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/availability"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
)

// PluginMetrics holds what /metrics shows of the plugins.
type PluginMetrics struct {
	calls  *prometheus.HistogramVec
	states *prometheus.CounterVec
}

func newPluginMetrics() *PluginMetrics {
	return &PluginMetrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_plugin_call_duration_seconds",
			Help: "Time of a call of a plugin, by outcome: ok, refused, absent, wrong, down, late, failed, canceled, " +
				"set_aside.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .1, .5, 1, 5, 30}},
			[]string{"plugin", "call", "outcome"}),
		states: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "servery_plugin_states_total",
			Help: "How often a plugin entered a state."}, []string{"plugin", "state"}),
	}
}

// PluginCalled counts a call (pluginhost.Observer).
func (m *PluginMetrics) PluginCalled(plugin, call, outcome string, took time.Duration) {
	m.calls.WithLabelValues(plugin, call, outcome).Observe(took.Seconds())
}

// PluginEntered counts a change of state (pluginhost.Observer).
func (m *PluginMetrics) PluginEntered(plugin string, state pluginhost.State) {
	m.states.WithLabelValues(plugin, string(state)).Inc()
}

// PluginsConfig selects the plugins of a hub.
type PluginsConfig struct {
	Dir         string
	Hidden      []string // directories that plugins cannot see
	NoIsolation bool     // plugins run without namespaces, for tests
	Tracer      *core.Tracer
	Log         *slog.Logger
}

// OpenPlugins starts the plugins in a directory.
func OpenPlugins(ctx context.Context, c PluginsConfig, db *postgres.DB) (*aggregator.Host, *PluginMetrics, error) {
	metrics, stored := newPluginMetrics(), calls.NewPlugins(db)
	host, err := aggregator.Open(ctx, aggregator.Config{
		Dir: c.Dir, Hidden: c.Hidden, NoIsolation: c.NoIsolation,
		Registry: stored, Reports: stored, Platforms: platforms.New(db),
		Availability: availability.New(db), Observer: metrics, Clock: db.Clock(),
		Watcher: plugintap.Watcher{Dir: c.Dir, Log: c.Log}, Tracer: c.Tracer, Log: c.Log,
	})
	return host, metrics, err
}
