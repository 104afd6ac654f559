package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/pluginhost"
)

// pluginMetrics is what /metrics shows of the plugins.
type pluginMetrics struct {
	calls  *prometheus.HistogramVec
	states *prometheus.CounterVec
}

func newPluginMetrics() *pluginMetrics {
	return &pluginMetrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_plugin_call_duration_seconds",
			Help:    "Time of a call of a plugin, by outcome: ok, refused, absent, wrong, down, late, failed, canceled.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .1, .5, 1, 5, 30}}, []string{"plugin", "call", "outcome"}),
		states: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "servery_plugin_states_total",
			Help: "How often a plugin entered a state."}, []string{"plugin", "state"}),
	}
}

// PluginCalled counts a call (pluginhost.Observer).
func (m *pluginMetrics) PluginCalled(plugin, call, outcome string, took time.Duration) {
	m.calls.WithLabelValues(plugin, call, outcome).Observe(took.Seconds())
}

// PluginEntered counts a change of state (pluginhost.Observer).
func (m *pluginMetrics) PluginEntered(plugin string, state pluginhost.State) {
	m.states.WithLabelValues(plugin, string(state)).Inc()
}
