package relay

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Queue is where calls wait; replicas share it.
type Queue interface {
	// Claim leases to the owner the first call of lines that are due, none of them
	// to who is busy and of each endpoint at most share, and tells when to ask again at
	// the latest; the zero time: nothing waits.
	Claim(ctx context.Context, owner core.ID, limit, share int, busy core.Busy, until time.Time) (calls []Call, next time.Time, err error)
	// Finish records what came of calls, in one transaction.
	Finish(ctx context.Context, owner core.ID, results []Result) error
	// Release gives leased calls back, due as they were.
	Release(ctx context.Context, owner core.ID, calls []Call) error
}

// Observer is told what the engine does, for metrics.
type Observer interface {
	Called(r Result)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Held             int           // calls leased to this replica at once: 1024
	PluginHeld       int           // of them for platforms of one plugin: half of them, about, so that an aggregator that is down leaves room for the others
	EndpointInFlight int           // most calls to one platform of a business at once: 16; to one that does not answer fewer
	Lease            time.Duration // 20 s; longer than planning, an exchange and its recording
	Poll             time.Duration // 1 s; how often to look when nothing wakes
	StopWithin       time.Duration // 10 s; then calls under way are cut off
}

func (c Config) withDefaults() Config {
	c.Held = cmp.Or(c.Held, 1024)
	c.PluginHeld = cmp.Or(c.PluginHeld, max(1, c.Held/2))
	c.EndpointInFlight = cmp.Or(c.EndpointInFlight, 16)
	c.Lease = cmp.Or(c.Lease, 20*time.Second)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.StopWithin = cmp.Or(c.StopWithin, 10*time.Second)
	return c
}

// Parts are what an engine works with; every one is required.
type Parts struct {
	Queue     Queue
	Plugins   Plugins
	Platforms Platforms
	Sender    Sender
	Clock     core.Clock
	Observer  Observer
	Tracer    *core.Tracer // nil: none
	Log       *slog.Logger
}

// Engine makes the calls of one replica. Run owns every goroutine it starts.
type Engine struct {
	Config
	Parts
	bell    core.Bell // look at the queue
	owner   core.ID
	results chan Result
	calls   context.Context // of every call; ended by cutOff
	cutOff  context.CancelFunc

	mu      sync.Mutex
	away    map[int64]time.Time // endpoints that are left to other replicas, until when
	spared  map[sparing]time.Time
	lanes   map[int64]*lane
	held    int
	plugins map[string]int // of what is held, how much is for whose platforms
	running sync.WaitGroup
}

// sparing is what a platform of a business wants no more of for a while.
type sparing struct {
	endpoint int64
	kind     Kind
}

// firstPlaces is how many calls may be under way at once to a platform of a
// business of which nothing is known yet.
const firstPlaces = 4

// lane is what this replica holds for one platform of a business.
type lane struct {
	places   core.Places // of calls under way
	inFlight int
	waiting  []Call
}

func (l *lane) busy() bool { return l.inFlight+len(l.waiting) >= l.places.Now }

// NewEngine makes an engine; nothing happens before Run.
func NewEngine(config Config, parts Parts) *Engine {
	config = config.withDefaults()
	calls, cutOff := context.WithCancel(context.Background())
	return &Engine{
		Config: config, Parts: parts, calls: calls, cutOff: cutOff, owner: core.NewID(parts.Clock.Now()),
		bell: core.NewBell(), results: make(chan Result, config.Held), away: map[int64]time.Time{}, spared: map[sparing]time.Time{}, lanes: map[int64]*lane{}, plugins: map[string]int{},
	}
}

// Wake makes the engine look at the queue soon. It never blocks.
func (e *Engine) Wake() { e.bell.Wake() }

// Run makes calls until the context ends, then ends those under way and records what
// came of them (at most StopWithin each), gives back what was not started, and returns.
func (e *Engine) Run(ctx context.Context) {
	defer e.cutOff()
	var recording sync.WaitGroup
	recording.Go(e.finish)
	for ctx.Err() == nil {
		e.look(ctx)
	}
	e.release(e.drain())
	core.Drain(&e.running, e.StopWithin, func() {
		e.Log.Warn("cutting off calls to aggregators that did not end in time")
		e.cutOff()
	})
	close(e.results)
	core.Drain(&recording, e.StopWithin, func() {
		e.Log.Warn("calls to aggregators cannot be recorded; they are made again when their leases are over")
		e.cutOff()
	})
}

// look claims what there is room for, then waits for a reason to look again: a
// wake-up, the due time of the next call, or the poll.
func (e *Engine) look(ctx context.Context) {
	next := e.Clock.Now().Add(e.Poll)
	if room, busy := e.room(); room > 0 {
		room = min(room, max(1, e.PluginHeld/4)) // what a plugin may hold is known only of what has been claimed
		calls, due, err := e.Queue.Claim(ctx, e.owner, room, 2*e.EndpointInFlight, busy, e.Clock.Now().Add(e.Lease))
		if err != nil && ctx.Err() == nil {
			e.Log.Error("calls to aggregators could not be claimed", "error", err)
		}
		e.accept(calls)
		if len(calls) == room {
			return
		}
		if !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	e.bell.Wait(ctx, e.Clock, next)
}

// room tells how many calls may be claimed now, and for whom none.
func (e *Engine) room() (int, core.Busy) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var busy core.Busy
	for endpoint, l := range e.lanes {
		switch {
		case l.inFlight+len(l.waiting) == 0 && l.places.Now >= e.first():
			delete(e.lanes, endpoint)
		case l.busy():
			busy.Endpoints = append(busy.Endpoints, endpoint)
		}
	}
	for plugin, held := range e.plugins {
		if held >= e.PluginHeld {
			busy.Plugins = append(busy.Plugins, plugin)
		}
	}
	now := e.Clock.Now()
	for endpoint, until := range e.away {
		if now.Before(until) {
			busy.Endpoints = append(busy.Endpoints, endpoint)
		} else {
			delete(e.away, endpoint)
		}
	}
	maps.DeleteFunc(e.spared, func(_ sparing, until time.Time) bool { return !now.Before(until) })
	return e.Held - e.held, busy
}

func (e *Engine) first() int { return min(firstPlaces, e.EndpointInFlight) }

func (e *Engine) accept(calls []Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range calls {
		l := e.lanes[c.Endpoint]
		if l == nil {
			l = &lane{places: core.Places{Now: e.first(), Most: e.EndpointInFlight}}
			e.lanes[c.Endpoint] = l
		}
		e.hold(c, 1)
		l.waiting = append(l.waiting, c)
		e.advance(l)
	}
}

// hold counts a call in or out. The caller holds mu.
func (e *Engine) hold(c Call, n int) {
	e.held += n
	if e.plugins[c.Plugin] += n; e.plugins[c.Plugin] == 0 {
		delete(e.plugins, c.Plugin)
	}
}

// advance starts calls while the lane has waiting ones and places in flight. The
// caller holds mu.
func (e *Engine) advance(l *lane) {
	for len(l.waiting) > 0 && l.inFlight < l.places.Now {
		c := l.waiting[0]
		l.waiting = l.waiting[1:]
		if e.Clock.Now().Add(startMargin).After(c.LeasedTo) {
			e.hold(c, -1) // too late to start; somebody claims it when the lease is over
			continue
		}
		l.inFlight++
		e.running.Add(1)
		go e.run(l, c)
	}
}

func (e *Engine) run(l *lane, c Call) {
	defer e.running.Done()
	ctx, span := e.Tracer.Begin(c.Trace.In(e.calls), core.ClientSpan, "relay", string(c.Kind))
	c.Trace = core.TraceOf(ctx)
	result, wrong := e.make(ctx, c), ""
	if result.State == Waiting || result.State == Failed {
		wrong = result.Message
	}
	span.Number("servery.business", int64(c.Business))
	span.Text("servery.platform", c.Platform)
	span.Text("servery.call", c.ID.String())
	span.End(wrong)
	if result.State == left {
		e.leave(c, result.RetryAt)
	} else {
		e.Observer.Called(result)
		e.tell(result)
		e.results <- result // holds all that can be held: never blocks
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	wasBusy := l.busy()
	l.inFlight--
	if result.Attempt != nil {
		l.places.Ended(result.Attempt.Answered())
	}
	if what := (sparing{c.Endpoint, c.Kind}); result.SparedTo.After(e.spared[what]) {
		e.spared[what] = result.SparedTo
	}
	e.advance(l)
	if wasBusy && !l.busy() {
		e.Wake()
	}
}

// sparedUntil is until when the aggregator wants none of the call's kind; the zero time:
// it may be made.
func (e *Engine) sparedUntil(c Call) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until := e.spared[sparing{c.Endpoint, c.Kind}]; e.Clock.Now().Before(until) {
		return until
	}
	return time.Time{}
}

// leave gives a call back for another replica to take, and takes no more of its
// endpoint for a while.
func (e *Engine) leave(c Call, until time.Time) {
	e.mu.Lock()
	e.away[c.Endpoint] = until
	e.mu.Unlock()
	e.release([]Call{c})
	e.mu.Lock()
	e.hold(c, -1)
	e.mu.Unlock()
}

// drain stops new starts and returns what has not been started.
func (e *Engine) drain() (waiting []Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lanes {
		waiting = append(waiting, l.waiting...)
		l.waiting = nil
	}
	return waiting
}

func (e *Engine) release(calls []Call) {
	if len(calls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Queue.Release(ctx, e.owner, calls); err != nil {
		e.Log.Warn("leases of calls could not be given back; they will run out", "calls", len(calls), "error", err)
	}
}

// finish records results in batches: while one transaction is under way the next
// batch gathers.
func (e *Engine) finish() {
	for batch := range core.Batches(e.results, cap(e.results)) {
		e.record(batch)
		e.mu.Lock()
		for _, r := range batch {
			e.hold(r.Call, -1)
		}
		e.mu.Unlock()
		e.Wake() // the next of their lines may be due
	}
}

// record writes a batch, again and again while the database is away. It gives up
// when the engine has been cut off, or when the leases are long over and others
// have taken the calls up.
func (e *Engine) record(batch []Result) {
	core.Persist(e.calls, e.Clock, e.Clock.Now().Add(5*e.Lease), func(ctx context.Context) error {
		err := e.Queue.Finish(ctx, e.owner, batch)
		if err != nil {
			e.Log.Error("calls to aggregators could not be recorded", "calls", len(batch), "error", err)
		}
		return err
	})
}

func (e *Engine) tell(r Result) {
	level := slog.LevelDebug
	switch r.State {
	case Waiting:
		level = slog.LevelInfo
	case Failed:
		level = slog.LevelWarn
	}
	log := e.Log
	if id := r.Call.Trace.ID(); id != "" {
		log = log.With("trace_id", id)
	}
	log.Log(context.Background(), level, "call to an aggregator", "call", r.Call.ID, "kind", r.Call.Kind, "business", r.Call.Business,
		"platform", r.Call.Platform, "order", r.Call.Order.ID, "attempt", r.Call.Attempts+1, "state", r.State, "message", r.Message)
}
