package hub

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/inbound"
)

// Connections bounds the connections to a hub's server.
type Connections struct {
	HeaderTimeout time.Duration  // for the header of a request
	IdleTimeout   time.Duration  // between two requests
	Limits        inbound.Config // Max 0: the default
}

// maxConnections is the default bound of connections. A hostile request can take about 100 MiB on each.
const maxConnections = 2048

// reservedFiles are for the database, plugins, logs and outbound connections.
const reservedFiles = 256

// limits returns the limits with the default bound and a logger.
func (c Connections) limits(log *slog.Logger) inbound.Config {
	limits := c.Limits
	limits.Log = log
	if limits.Max == 0 {
		limits.Max = min(maxConnections, inbound.OpenFiles()/2)
	}
	return limits
}

// validate returns the mistakes, given the process's limit of open files.
func (c Connections) validate(files int) (mistakes []error) {
	l := c.Limits
	if l.Max != 0 && (l.Max < 16 || l.Max > files-reservedFiles) {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_MAX_CONNECTIONS: must be 0 or from 16 to %d, because "+
			"ulimit -n is %d and %d files are reserved", files-reservedFiles, files, reservedFiles))
	}
	if l.PerAddress < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MAX_CONNECTIONS_PER_ADDRESS: must be at least 1"))
	}
	if l.MinRate < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MIN_RATE: must be at least 1 byte a second"))
	}
	for _, timeout := range []struct {
		name string
		time.Duration
	}{{"HEADER", c.HeaderTimeout}, {"STALL", l.Stall}, {"IDLE", c.IdleTimeout}} {
		if timeout.Duration < 100*time.Millisecond || timeout.Duration > time.Hour {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_%s_TIMEOUT: must be from 100ms to 1h", timeout.name))
		}
	}
	return mistakes
}

// connectionCollector exports metrics of client connections.
type connectionCollector struct{ limiter *inbound.Limiter }

var (
	connectionsOpen = prometheus.NewDesc("servery_client_connections",
		"Connections of clients; authenticated once a key or a session was accepted on one.", []string{"state"}, nil)
	connectionsRefused = prometheus.NewDesc("servery_client_connections_refused_total",
		"Connections and requests refused, by the limit that was reached: total, address, business.", []string{"limit"},
		nil)
	connectionsClosed = prometheus.NewDesc("servery_client_connections_closed_total",
		"Connections that the hub closed: evicted in favour of new ones, stalled without progress.", []string{"reason"},
		nil)
)

// Describe implements prometheus.Collector.
func (connectionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- connectionsOpen
	ch <- connectionsRefused
	ch <- connectionsClosed
}

// Collect implements prometheus.Collector.
func (f connectionCollector) Collect(ch chan<- prometheus.Metric) {
	stats := f.limiter.Stats()
	anonymous := stats.Open - stats.Authenticated
	for state, n := range map[string]int{"authenticated": stats.Authenticated, "anonymous": anonymous} {
		ch <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(n), state)
	}
	for limit, n := range map[string]int{"total": stats.RefusedTotal, "address": stats.RefusedAddress,
		"business": stats.RefusedBusiness} {
		ch <- prometheus.MustNewConstMetric(connectionsRefused, prometheus.CounterValue, float64(n), limit)
	}
	for reason, n := range map[string]int{"evicted": stats.Evicted, "stalled": stats.Stalled} {
		ch <- prometheus.MustNewConstMetric(connectionsClosed, prometheus.CounterValue, float64(n), reason)
	}
}
