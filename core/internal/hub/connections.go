package hub

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/inbound"
)

// Connections bounds the connections to a hub's server.
type Connections struct {
	HeaderTimeout time.Duration // for the header of a request
	IdleTimeout   time.Duration // between two requests
	Limits        inbound.Config
}

func (c Connections) limits(log *slog.Logger) inbound.Config {
	limits := c.Limits
	limits.Log = log
	return limits
}

// connectionFigures exports metrics of client connections.
type connectionFigures struct{ limiter *inbound.Limiter }

var (
	connectionsOpen = prometheus.NewDesc("servery_client_connections",
		"Connections of clients; authenticated once a key or a session was accepted on one.", []string{"state"}, nil)
	connectionsRefused = prometheus.NewDesc("servery_client_connections_refused_total",
		"Connections refused, by the limit that was reached: total, address.", []string{"limit"}, nil)
	connectionsClosed = prometheus.NewDesc("servery_client_connections_closed_total",
		"Connections that the hub closed: evicted in favour of new ones, stalled without progress.", []string{"reason"},
		nil)
)

// Describe implements prometheus.Collector.
func (connectionFigures) Describe(ch chan<- *prometheus.Desc) {
	ch <- connectionsOpen
	ch <- connectionsRefused
	ch <- connectionsClosed
}

// Collect implements prometheus.Collector.
func (f connectionFigures) Collect(ch chan<- prometheus.Metric) {
	stats := f.limiter.Stats()
	anonymous := stats.Open - stats.Authenticated
	for state, n := range map[string]int{"authenticated": stats.Authenticated, "anonymous": anonymous} {
		ch <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(n), state)
	}
	for limit, n := range map[string]int{"total": stats.RefusedTotal, "address": stats.RefusedAddress} {
		ch <- prometheus.MustNewConstMetric(connectionsRefused, prometheus.CounterValue, float64(n), limit)
	}
	for reason, n := range map[string]int{"evicted": stats.Evicted, "stalled": stats.Stalled} {
		ch <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(n), reason)
	}
}
