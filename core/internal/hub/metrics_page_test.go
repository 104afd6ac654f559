package hub

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// countingCollector is a collector that counts its reads.
type countingCollector struct{ reads atomic.Int32 }

func (*countingCollector) Describe(ch chan<- *prometheus.Desc) { ch <- consoleStreams }

func (c *countingCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(consoleStreams, prometheus.GaugeValue, float64(c.reads.Add(1)))
}

// heldWriter is a response that waits at its first byte.
type heldWriter struct {
	*httptest.ResponseRecorder
	writing, proceed chan struct{}
}

func (h heldWriter) Write(p []byte) (int, error) {
	select {
	case h.writing <- struct{}{}:
	case <-h.proceed:
	}
	<-h.proceed
	return h.ResponseRecorder.Write(p)
}

// Otherwise requests that overlap would show the first one's metrics for as long as they go on.
func TestScrapeDuringAResponseReadsMetricsAnew(t *testing.T) {
	counting := &countingCollector{}
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(counting)
	page := m.page()
	held := heldWriter{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	first := make(chan struct{})
	go func() {
		defer close(first)
		page.ServeHTTP(held, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}()
	<-held.writing
	second := httptest.NewRecorder()
	page.ServeHTTP(second, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	close(held.proceed)
	<-first
	require.Contains(t, held.Body.String(), "servery_console_streams 1\n")
	require.Contains(t, second.Body.String(), "servery_console_streams 2\n")
}
