package hub

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/singleflight"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web/body"
)

// metrics holds what /metrics shows in addition to the process metrics.
type metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	jobs       *prometheus.HistogramVec
	attempts   *prometheus.HistogramVec
	deliveries *prometheus.CounterVec
	lateness   prometheus.Histogram
	calls      *prometheus.HistogramVec
	menus      *prometheus.HistogramVec
	unverified prometheus.Counter
	unrouted   prometheus.Counter
	outcomes   *prometheus.CounterVec
}

func newMetrics(db *postgres.DB, version string, log *slog.Logger) *metrics {
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_http_request_duration_seconds",
			Help: "Duration of a request.", Buckets: buckets}, []string{"route", "method", "status"}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_job_duration_seconds",
			Help: "Duration of one run of a job, by outcome: done, waiting, retry, failed, lost.", Buckets: buckets},
			[]string{"kind", "outcome"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_delivery_attempt_duration_seconds",
			Help: "Duration of a delivery attempt, by error class; empty means success.", Buckets: buckets},
			[]string{"event_type", "error_class"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "servery_deliveries_total",
			Help: "Deliveries that ended, by state: delivered, failed."}, []string{"event_type", "state"}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "servery_delivery_lateness_seconds",
			Help: "Time from when an attempt was due to its start.", Buckets: buckets}),
	}
	m.calls = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_relay_call_duration_seconds",
		Help:    "Duration of a call to an aggregator, by state: done, pending, waiting, failed, skipped.",
		Buckets: buckets}, []string{"kind", "state"})
	m.menus = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "servery_menu_publish_duration_seconds",
		Help: "Time to render the menu of a store and send it to an aggregator, by state: published, pending, " +
			"unchanged, waiting, failed, unlisted, skipped.", Buckets: buckets}, []string{"plugin", "state"})
	m.unverified = prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_callbacks_unverified_total",
		Help: "Callbacks that failed authentication as their platform."})
	m.unrouted = prometheus.NewCounter(prometheus.CounterOpts{Name: "servery_callbacks_unrouted_total",
		Help: "Authentic callbacks at the shared URL of a plugin that name no store of one business."})
	m.outcomes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "servery_outcomes_total",
		Help: "Outcomes that aggregators report later, by their effect: settled, retried, early, repeated, " +
			"superseded, pending; expired if none came."}, []string{"kind", "effect"})
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "servery_build_info",
		Help: "1, with the version of the hub."}, []string{"version", "go_version"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(build, m.menus, m.calls, m.requests, m.jobs, m.attempts, m.deliveries, m.lateness,
		m.unverified, m.unrouted, m.outcomes, backlogCollector{db, log},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// serve returns the handler of /metrics, which needs no authentication.
func (m *metrics) serve() fiber.Handler {
	handle := adaptor.HTTPHandler(m.page())
	return func(c *fiber.Ctx) error {
		// The adaptor would read a body of any size into memory.
		body.DrainRest(c.Context(), 0)
		_ = c.Request().CloseBodyStream()
		return handle(c)
	}
}

// page returns the handler that reads and writes the metrics. Requests that arrive during a read share it. Otherwise
// they could take all shared connections to the database. With HandlerOpts.CoalesceGather a request could also join
// responses that are being written, and so frequent requests would all get one old read.
func (m *metrics) page() http.Handler {
	var reads singleflight.Group
	return promhttp.HandlerFor(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err, _ := reads.Do("", func() (any, error) { return m.registry.Gather() })
		// The handler may change the list, but only reads the families.
		return slices.Clone(families.([]*dto.MetricFamily)), err
	}), promhttp.HandlerOpts{})
}

// RequestHandled counts an HTTP response (web.Observer).
func (m *metrics) RequestHandled(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

// CallbackUnverified counts a callback that failed authentication (web.Observer).
func (m *metrics) CallbackUnverified() { m.unverified.Inc() }

// CallbackUnrouted counts an authentic callback of no single business (web.Observer).
func (m *metrics) CallbackUnrouted() { m.unrouted.Inc() }

// JobEnded counts an attempt at a job (job.Observer).
func (m *metrics) JobEnded(kind core.JobKind, outcome string, took time.Duration) {
	m.jobs.WithLabelValues(string(kind), outcome).Observe(took.Seconds())
}

// Attempted counts a delivery attempt (webhook.Observer).
func (m *metrics) Attempted(r webhook.Result, late time.Duration) {
	event := string(r.Delivery.EventType)
	m.attempts.WithLabelValues(event, string(r.Attempt.ErrorClass)).Observe(r.Attempt.Timing.Total.Seconds())
	m.lateness.Observe(max(late, 0).Seconds())
	if r.State != webhook.Pending {
		m.deliveries.WithLabelValues(event, string(r.State)).Inc()
	}
}

// Called counts a call to an aggregator (relay.Observer).
func (m *metrics) Called(r relay.Result) {
	took := time.Duration(0)
	if r.Attempt != nil {
		took = r.Attempt.Took
	}
	m.calls.WithLabelValues(string(r.Call.Kind), string(r.State)).Observe(took.Seconds())
}

// Published counts a publication (publish.Observer).
func (m *metrics) Published(r publish.Result, took time.Duration) {
	state := string(r.State)
	if r.Unchanged {
		state = "unchanged"
	}
	m.menus.WithLabelValues(r.Plugin, state).Observe(took.Seconds())
	if r.Overdue {
		m.outcomes.WithLabelValues(outcome.Menu, "expired").Inc()
	}
}

// outcomeReported counts a reported outcome.
func (m *metrics) outcomeReported(kind string, effect outcome.Effect) {
	m.outcomes.WithLabelValues(kind, string(effect)).Inc()
}

// backlogCollector exports metrics of the queues and the connection pool, read on each scrape.
type backlogCollector struct {
	db  *postgres.DB
	log *slog.Logger
}

var (
	queueDepth = prometheus.NewDesc("servery_queue_depth",
		"Waiting jobs, deliveries (due, scheduled for a retry, or held), queues of calls to aggregators, and menus "+
			"for aggregators.",
		[]string{"queue", "state"}, nil)
	queueAge = prometheus.NewDesc("servery_queue_oldest_age_seconds",
		"Age of the oldest due job, delivery to an endpoint without an attempt under way, call to an aggregator, "+
			"and menu for an aggregator.", []string{"queue"}, nil)
	endpointAge = prometheus.NewDesc("servery_endpoint_oldest_age_seconds",
		"Age of the oldest due delivery of the slowest endpoint, without held deliveries.",
		nil, nil)
	circuitsOpen = prometheus.NewDesc("servery_circuits_open",
		"Endpoints whose circuit is open.", nil, nil)
	unacknowledged = prometheus.NewDesc("servery_orders_unacknowledged",
		"Orders of the last day that have waited too long for their acknowledgement.", nil, nil)
	silentStores = prometheus.NewDesc("servery_pos_silent", "Stores whose POS is silent while they are open.", nil,
		nil)
	partitionDays = prometheus.NewDesc("servery_partitions_ahead_days",
		"Days after today for which all partitions exist.", nil, nil)
	poolOpen = prometheus.NewDesc("servery_database_connections", "Connections to the database, by state.",
		[]string{"state"}, nil)
	poolWait = prometheus.NewDesc("servery_database_connection_waits_total", "Number of waits for a connection.",
		nil, nil)
)

// Describe implements prometheus.Collector.
func (backlogCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- queueDepth
	ch <- queueAge
	ch <- endpointAge
	ch <- circuitsOpen
	ch <- unacknowledged
	ch <- silentStores
	ch <- partitionDays
	ch <- poolOpen
	ch <- poolWait
}

// Collect implements prometheus.Collector.
func (b backlogCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	pool := b.db.PoolStats()
	gauge(poolOpen, float64(pool.InUse), "in_use")
	gauge(poolOpen, float64(pool.Idle), "idle")
	ch <- prometheus.MustNewConstMetric(poolWait, prometheus.CounterValue, float64(pool.WaitCount))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	waiting, err := schema.ReadBacklog(ctx, b.db)
	if err != nil {
		b.log.Warn("counting the backlog failed", "error", err)
		return
	}
	gauge(queueDepth, float64(waiting.Jobs), "jobs", "waiting")
	gauge(queueDepth, float64(waiting.Due), "deliveries", "due")
	gauge(queueDepth, float64(waiting.Scheduled), "deliveries", "scheduled")
	gauge(queueDepth, float64(waiting.Held), "deliveries", "held")
	gauge(queueDepth, float64(waiting.Calls), "calls", "waiting")
	gauge(queueDepth, float64(waiting.Publications), "publications", "waiting")
	gauge(circuitsOpen, float64(waiting.OpenCircuits))
	gauge(unacknowledged, float64(waiting.Unacknowledged))
	gauge(silentStores, float64(waiting.Silent))
	gauge(partitionDays, float64(waiting.PartitionDays))
	gauge(queueAge, waiting.OldestJob.Seconds(), "jobs")
	gauge(queueAge, waiting.OldestDue.Seconds(), "deliveries")
	gauge(endpointAge, waiting.WorstEndpoint.Seconds())
	gauge(queueAge, waiting.OldestCall.Seconds(), "calls")
	gauge(queueAge, waiting.OldestPublication.Seconds(), "publications")
}
