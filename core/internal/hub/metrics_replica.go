package hub

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/pluginhost"
)

// replicaCollector exports metrics of this replica's batch queues and event streams, read on each scrape.
type replicaCollector struct{ hub *Hub }

var (
	batchQueueDepth = prometheus.NewDesc("servery_batch_queue_depth",
		"Requests in this replica that wait for the transaction that stores them, by batch: orders, order_states, "+
			"rider_statuses, rider_locations.",
		[]string{"batch"}, nil)
	consoleStreams = prometheus.NewDesc("servery_console_streams",
		"Pages of the console that follow what happens (text/event-stream).", nil, nil)
)

// Describe implements prometheus.Collector.
func (replicaCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- batchQueueDepth
	ch <- consoleStreams
}

// Collect implements prometheus.Collector.
func (l replicaCollector) Collect(ch chan<- prometheus.Metric) {
	statuses, locations := l.hub.riders.Waiting()
	for batch, waiting := range map[string]int{"orders": l.hub.intake.Waiting(),
		"order_states": orders.New(l.hub.db).WaitingChanges(), "rider_statuses": statuses,
		"rider_locations": locations} {
		ch <- prometheus.MustNewConstMetric(batchQueueDepth, prometheus.GaugeValue, float64(waiting), batch)
	}
	if l.hub.console != nil {
		ch <- prometheus.MustNewConstMetric(consoleStreams, prometheus.GaugeValue, float64(l.hub.console.Streams()))
	}
}

// pluginCollector exports metrics of this replica's plugins, read on each scrape.
type pluginCollector struct{ host *pluginhost.Host }

var (
	pluginState = prometheus.NewDesc("servery_plugin_state", "1 for the state that the plugin is in.",
		[]string{"plugin", "state"}, nil)
	pluginInFlight = prometheus.NewDesc("servery_plugin_calls_in_flight", "Calls of the plugin under way.",
		[]string{"plugin"}, nil)
	pluginStarts = prometheus.NewDesc("servery_plugin_starts_total",
		"How often the plugin was started; all but the first are restarts and upgrades.", []string{"plugin"}, nil)
	pluginMemory = prometheus.NewDesc("servery_plugin_memory_bytes", "Memory that the plugin's process takes.",
		[]string{"plugin"}, nil)
)

// Describe implements prometheus.Collector.
func (pluginCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pluginState, pluginInFlight, pluginStarts, pluginMemory} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p pluginCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range p.host.Status() {
		ch <- prometheus.MustNewConstMetric(pluginState, prometheus.GaugeValue, 1, s.ID, string(s.State))
		ch <- prometheus.MustNewConstMetric(pluginInFlight, prometheus.GaugeValue, float64(s.InFlight), s.ID)
		ch <- prometheus.MustNewConstMetric(pluginStarts, prometheus.CounterValue, float64(s.Starts), s.ID)
		ch <- prometheus.MustNewConstMetric(pluginMemory, prometheus.GaugeValue, float64(s.Memory), s.ID)
	}
}
