package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/servery-hub/servery/core/inbound"
)

// connectionFlags bound the connections of clients.
type connectionFlags struct {
	MaxConnections int           `name:"max-connections" env:"SERVERY_MAX_CONNECTIONS" default:"0" help:"Connections of clients at once; 0: half of the open files that the process may have, at most 2048."`
	MaxPerAddress  int           `name:"max-connections-per-address" env:"SERVERY_MAX_CONNECTIONS_PER_ADDRESS" default:"256" help:"Connections at once of an IPv4 address or of an IPv6 /64; addresses of trusted proxies have no such limit."`
	HeaderTimeout  time.Duration `name:"header-timeout" env:"SERVERY_HEADER_TIMEOUT" default:"10s" help:"How long the header of a request may take."`
	StallTimeout   time.Duration `name:"stall-timeout" env:"SERVERY_STALL_TIMEOUT" default:"10s" help:"How long a client may make no progress with a body or a response before its connection is closed."`
	MinRate        int           `name:"min-rate" env:"SERVERY_MIN_RATE" default:"4096" help:"Bytes a second that bodies and responses which take longer must reach."`
	IdleTimeout    time.Duration `name:"idle-timeout" env:"SERVERY_IDLE_TIMEOUT" default:"90s" help:"How long a connection is kept between two requests."`
}

// sensibleConnections is how many connections there are at most where the operator does
// not say: hostile requests on each take about 100 MiB.
const sensibleConnections = 2048

// reservedFiles are for the database, plugins, logs and outbound connections.
const reservedFiles = 256

// wrong returns what is wrong with the flags, in a process that may have so many files open.
func (f connectionFlags) wrong(files int) (mistakes []error) {
	if f.MaxConnections != 0 && (f.MaxConnections < 16 || f.MaxConnections > files-reservedFiles) {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_MAX_CONNECTIONS: must be 0 or from 16 to %d: the process may have %d "+
			"files open, of which %d are for other purposes (ulimit -n, LimitNOFILE)", files-reservedFiles, files, reservedFiles))
	}
	if f.MaxPerAddress < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MAX_CONNECTIONS_PER_ADDRESS: must be at least 1"))
	}
	if f.MinRate < 1 {
		mistakes = append(mistakes, errors.New("SERVERY_MIN_RATE: must be at least 1 byte a second"))
	}
	for _, timeout := range []struct {
		name string
		time.Duration
	}{{"HEADER", f.HeaderTimeout}, {"STALL", f.StallTimeout}, {"IDLE", f.IdleTimeout}} {
		if timeout.Duration < 100*time.Millisecond || timeout.Duration > time.Hour {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_%s_TIMEOUT: must be from 100ms to 1h", timeout.name))
		}
	}
	return mistakes
}

// config is what the flags come to.
func (f connectionFlags) config(trusted []netip.Prefix) connectionConfig {
	most := f.MaxConnections
	if most == 0 {
		most = min(sensibleConnections, inbound.OpenFiles()/2)
	}
	return connectionConfig{f.HeaderTimeout, f.IdleTimeout, inbound.Config{Max: most, PerAddress: f.MaxPerAddress,
		Trusted: trusted, Stall: f.StallTimeout, MinRate: f.MinRate}}
}

// connectionConfig bounds the connections to a hub's server.
type connectionConfig struct {
	header, idle time.Duration
	inbound      inbound.Config
}

func (c connectionConfig) limits(log *slog.Logger) inbound.Config {
	limits := c.inbound
	limits.Log = log
	return limits
}

// connectionFigures shows the connections of clients.
type connectionFigures struct{ limiter *inbound.Limiter }

var (
	connectionsOpen = prometheus.NewDesc("servery_client_connections",
		"Connections of clients; authenticated once a key or a session was accepted on one.", []string{"state"}, nil)
	connectionsRefused = prometheus.NewDesc("servery_client_connections_refused_total",
		"Connections refused, by the limit that was reached: total, address.", []string{"limit"}, nil)
	connectionsClosed = prometheus.NewDesc("servery_client_connections_closed_total",
		"Connections that the hub closed: evicted in favour of new ones, stalled without progress.", []string{"reason"}, nil)
)

// Describe names the figures (prometheus.Collector).
func (connectionFigures) Describe(ch chan<- *prometheus.Desc) {
	ch <- connectionsOpen
	ch <- connectionsRefused
	ch <- connectionsClosed
}

// Collect reads the figures (prometheus.Collector).
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
