package webhook

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Queue is where deliveries wait; replicas share it.
type Queue interface {
	// Claim leases due deliveries to the owner, as many as there is room for, and
	// tells when to ask again at the latest.
	Claim(ctx context.Context, owner core.ID, room Room, until time.Time) (Batch, error)
	// Finish records attempts and what they led to, in one transaction, and judges
	// the health of their endpoints by the rules.
	Finish(ctx context.Context, owner core.ID, results []Result, rules Probing) (Outlook, error)
	// Release gives leased deliveries back, due as they were.
	Release(ctx context.Context, owner core.ID, deliveries []Delivery) error
}

// Room is what a replica has room for.
type Room struct {
	Deliveries int           // at most
	Bodies     int           // bytes of large bodies, each event's counted once: the last of them may go beyond; 0: no large body
	Busy       []int64       // endpoints to which nothing is to be claimed; never nil
	Most       map[int64]int // of an endpoint, probes and what a person asked for aside
	First      int           // of any other endpoint; 0: as many as its share
}

// LargeBody is the size, in bytes, above which bodies are held within a bound of
// their own: so many of them that a replica has no room for more leave the others theirs.
const LargeBody = 64 << 10

// Batch is what a claim brought.
type Batch struct {
	Deliveries []Delivery
	More       bool      // there is more due than was asked for
	NextDue    time.Time // when the earliest of the rest is due; zero: nothing waits
}

// Outlook is what recorded attempts led to beyond their own deliveries.
type Outlook struct {
	Probed []int64 // endpoints that fail: what waits for them is not to be started
	Due    bool    // other deliveries may start now
}

// Poster makes one attempt.
type Poster interface {
	Post(ctx context.Context, d Delivery) Attempt
}

// Observer is told what the engine does, for metrics.
type Observer interface {
	Attempted(r Result, late time.Duration)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Held             int           // deliveries leased to this replica at once: 2048
	Bodies           int           // bytes of large bodies held at once, beside one that goes beyond: 128 MiB
	EndpointInFlight int           // most attempts to one endpoint at once: 16; to one that does not answer fewer
	Batch            int           // most deliveries of one claim: 512
	FinishBatch      int           // most results of one transaction: 512
	Lease            time.Duration // 20 s; longer than an exchange and its recording
	Poll             time.Duration // 1 s; how often to look when nothing wakes
	StopWithin       time.Duration // 10 s; then attempts under way are cut off
	Probing          Probing       // of endpoints that fail
	Tracer           *core.Tracer  // nil: none
}

func (c Config) withDefaults() Config {
	c.Held = cmp.Or(c.Held, 2048)
	c.Bodies = cmp.Or(c.Bodies, 128<<20)
	c.EndpointInFlight = cmp.Or(c.EndpointInFlight, 16)
	c.Batch = cmp.Or(c.Batch, 512)
	c.FinishBatch = cmp.Or(c.FinishBatch, 512)
	c.Lease = cmp.Or(c.Lease, 20*time.Second)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.StopWithin = cmp.Or(c.StopWithin, 10*time.Second)
	c.Probing = c.Probing.withDefaults()
	return c
}

// startMargin is how much of its lease a delivery must have left when its
// attempt starts: the longest exchange and time to record it. A delivery that
// cannot start in time is given back; whoever claims it next starts it afresh.
const startMargin = 7 * time.Second

// Engine makes the deliveries of one replica. Run owns every goroutine it starts.
type Engine struct {
	config   Config
	queue    Queue
	poster   Poster
	clock    core.Clock
	observer Observer
	log      *slog.Logger
	owner    core.ID

	bell     core.Bell // look at the queue
	results  chan Result
	attempts context.Context // of every attempt; ended by cutOff
	cutOff   context.CancelFunc

	mu       sync.Mutex
	lanes    map[int64]*lane
	held     int
	back     []Delivery // held still, to be given back
	bodies   bodies
	round    int  // of claims
	short    bool // the last look at the queue was limited by room
	stopping bool
	running  sync.WaitGroup // attempts
}

// NewEngine makes an engine; nothing happens before Run.
func NewEngine(config Config, queue Queue, poster Poster, clock core.Clock, observer Observer, log *slog.Logger) *Engine {
	config = config.withDefaults()
	attempts, cutOff := context.WithCancel(context.Background())
	return &Engine{
		config: config, queue: queue, poster: poster, clock: clock, observer: observer, log: log,
		attempts: attempts, cutOff: cutOff,
		owner:   core.NewID(clock.Now()),
		bell:    core.NewBell(),
		results: make(chan Result, config.Held),
		lanes:   map[int64]*lane{},
		bodies:  bodies{of: map[core.ID]*body{}},
	}
}

// Owner is the name under which this replica leases deliveries.
func (e *Engine) Owner() core.ID { return e.owner }

// LeaseUntil is the end of a lease that begins now.
func (e *Engine) LeaseUntil() time.Time { return e.clock.Now().Add(e.config.Lease) }

// Wake makes the engine look at the queue soon. It never blocks.
func (e *Engine) Wake() { e.bell.Wake() }

// Run delivers until the context ends, then finishes what is in flight and records
// it (at most StopWithin each), gives back what was not started, and returns.
func (e *Engine) Run(ctx context.Context) {
	defer e.cutOff()
	var recording sync.WaitGroup
	recording.Go(e.finish)
	e.claimLoop(ctx)

	e.drain()
	e.release(e.given())
	core.Drain(&e.running, e.config.StopWithin, func() {
		e.log.Warn("cutting off attempts that did not end in time")
		e.cutOff()
	})
	close(e.results)
	core.Drain(&recording, e.config.StopWithin, func() {
		e.log.Warn("attempts cannot be recorded; they are made again when their leases are over")
		e.cutOff()
	})
}

// claimLoop gives back what this replica is not to start, and claims whenever
// there is room and reason: a wake-up, the exact due time of the next retry, or
// the poll that finds what nobody told of.
func (e *Engine) claimLoop(ctx context.Context) {
	for ctx.Err() == nil {
		e.release(e.given())
		next := e.clock.Now().Add(e.config.Poll)
		room := e.room()
		more, asked := false, room.Deliveries == 0
		if room.Deliveries > 0 {
			batch, err := e.queue.Claim(ctx, e.owner, room, e.LeaseUntil())
			switch {
			case err != nil && ctx.Err() == nil:
				e.log.Error("deliveries could not be claimed", "error", err)
			case err == nil:
				e.release(e.accept(batch.Deliveries))
				more, asked = batch.More, true
				if !batch.NextDue.IsZero() && batch.NextDue.Before(next) {
					next = batch.NextDue
				}
			}
		}
		// What was left out for want of room may have room by now, and then no result
		// is sure to come that would wake this loop.
		if now := e.room(); asked && now.Deliveries > 0 &&
			(more || room.Deliveries == 0 || len(now.Busy) < len(room.Busy) || now.Bodies > room.Bodies) {
			continue
		}
		e.bell.Wait(ctx, e.clock, next)
	}
}

// finish records results in batches: while one transaction is under way the
// next batch gathers. A result is kept until it is recorded.
func (e *Engine) finish() {
	for batch := range core.Batches(e.results, e.config.FinishBatch) {
		e.recorded(batch, e.record(batch))
	}
}

// record writes a batch, again and again while the database is away. It gives
// up when the engine has been cut off, or when the leases are over and others
// have taken the deliveries up.
func (e *Engine) record(batch []Result) (outlook Outlook) {
	core.Persist(e.attempts, e.clock, e.clock.Now().Add(5*e.config.Lease), func(ctx context.Context) (err error) {
		if outlook, err = e.queue.Finish(ctx, e.owner, batch, e.config.Probing); err != nil {
			e.log.Error("attempts could not be recorded", "attempts", len(batch), "error", err)
		}
		return err
	})
	return outlook
}
