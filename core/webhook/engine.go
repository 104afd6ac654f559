package webhook

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// Queue stores pending deliveries. Replicas share it.
type Queue interface {
	// Claim leases due deliveries to the owner, within the capacity. The keys of the capacity are endpoints; its
	// limits do not apply to probes and manual resends.
	Claim(ctx context.Context, owner core.ID, capacity Capacity, until time.Time) (queue.Batch[Delivery], error)
	// Finish records attempts and their results in one transaction, and updates the health of their endpoints. It
	// blocks endpoints whose circuit is open.
	Finish(ctx context.Context, owner core.ID, results []Result, rules CircuitRules) (queue.FinishResult, error)
	// Release returns leased deliveries to the queue without changing their due time.
	Release(ctx context.Context, owner core.ID, deliveries []Delivery) error
}

// Capacity is what a claim may take.
type Capacity struct {
	queue.Capacity
	Bodies int // bytes of large bodies, each event's once; the last may exceed it; 0: none
}

// LargeBody is the size in bytes above which bodies count against a separate bound. Large bodies that use up this
// bound leave the capacity for small ones untouched.
const LargeBody = 64 << 10

// Poster makes one attempt.
type Poster interface {
	Post(ctx context.Context, d Delivery) Attempt
}

// Observer receives the engine's metrics.
type Observer interface {
	Attempted(r Result, late time.Duration)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Owner         core.ID       // of this replica in leases; the zero id: a new one
	Capacity      int           // deliveries leased to this replica at once: 2048
	Bodies        int           // bytes of large bodies held at once, before the one that exceeds it: 128 MiB
	EndpointLimit int           // bound of the concurrency limit of an endpoint: 16
	Batch         int           // most deliveries of one claim: 512
	FinishBatch   int           // most results of one transaction: 512
	Lease         time.Duration // 20 s; longer than an exchange and its recording
	Poll          time.Duration // as in queue.Config
	StopWithin    time.Duration // as in queue.Config
	Circuit       CircuitRules  // of failing endpoints
	Tracer        *core.Tracer  // nil: none
}

func (c Config) withDefaults() Config {
	c.Capacity = cmp.Or(c.Capacity, 2048)
	c.Bodies = cmp.Or(c.Bodies, 128<<20)
	c.EndpointLimit = cmp.Or(c.EndpointLimit, 16)
	c.Batch = cmp.Or(c.Batch, 512)
	c.FinishBatch = cmp.Or(c.FinishBatch, 512)
	c.Lease = cmp.Or(c.Lease, 20*time.Second)
	c.Circuit = c.Circuit.withDefaults()
	return c
}

// firstLimit is the initial concurrency limit of an endpoint without history.
const firstLimit = 4

// startMargin is how much of its lease a delivery must have left when its attempt starts. It covers the longest
// exchange and its recording. A delivery that cannot start in time is released.
const startMargin = 7 * time.Second

// claimAhead is how long before their due time retries are claimed. They are read meanwhile, and start in time.
const claimAhead = 100 * time.Millisecond

// Engine makes the deliveries of one replica.
type Engine struct {
	*queue.Engine[Delivery, Result]
	config   Config
	queue    Queue
	poster   Poster
	clock    core.Clock
	observer Observer
	log      *slog.Logger
	bodies   bodies
	versions versions
}

// Dependencies are the dependencies of an engine. All are required.
type Dependencies struct {
	Queue    Queue
	Poster   Poster
	Clock    core.Clock
	Observer Observer
	Log      *slog.Logger
}

// NewEngine returns an engine that is idle until Run.
func NewEngine(config Config, d Dependencies) *Engine {
	config = config.withDefaults()
	e := &Engine{
		config: config, queue: d.Queue, poster: d.Poster, clock: d.Clock, observer: d.Observer, log: d.Log,
		bodies:   bodies{limit: config.Bodies, byEvent: map[core.ID]*body{}},
		versions: versions{byWebhook: map[int64]version{}},
	}
	e.Engine = queue.New(queue.Config{
		Name: "deliveries", Owner: config.Owner,
		Capacity: config.Capacity, Batch: config.Batch, FinishBatch: config.FinishBatch,
		KeyLimit: config.EndpointLimit, FirstLimit: firstLimit, MaxWaiting: config.Capacity / 2,
		Lease: config.Lease, StartMargin: startMargin, Ahead: claimAhead, Poll: config.Poll,
		StopWithin: config.StopWithin,
	}, policy{e}, d.Clock, d.Log)
	return e
}

// Start starts the first attempt of a reserved delivery at once. The delivery is committed and leased to this
// replica.
func (e *Engine) Start(d Delivery) {
	e.bodies.retain(&d)
	e.Engine.Start(d)
}

// Invalidate releases deliveries after a change of a webhook: those that have not started and were read before this
// version. The next claim reads the new settings.
func (e *Engine) Invalidate(webhook, version int64) {
	now := e.clock.Now()
	e.versions.set(webhook, version, now, now.Add(e.config.Lease))
	e.ReleaseWaiting(webhook, e.versions.isStale)
}
