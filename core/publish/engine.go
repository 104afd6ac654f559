package publish

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Observer is told what the engine does, for metrics.
type Observer interface {
	Published(r Result, took time.Duration)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Held             int           // publications under way in this replica: 32
	PluginHeld       int           // of them for platforms of one plugin: half of them, about, so that an aggregator that is down leaves room for the others
	EndpointInFlight int           // most of them to one platform of a business: 8; to one that does not answer fewer
	Renderings       int           // of them being rendered: 1, so that menus take half of a small machine at most
	RenderingHeld    time.Duration // 1 s; how long one that is being rendered counts so: one that hangs keeps no other waiting
	Lease            time.Duration // 60 s; longer than rendering and sending
	Poll             time.Duration // 1 s; how often to look when nothing wakes
	Absence          time.Duration // 5 s; how long a platform is left alone whose plugin is down
	StopWithin       time.Duration // 10 s; then what is under way is cut off
}

func (c Config) withDefaults() Config {
	c.Held = cmp.Or(c.Held, 32)
	c.PluginHeld = cmp.Or(c.PluginHeld, max(1, c.Held/2))
	c.EndpointInFlight = cmp.Or(c.EndpointInFlight, 8)
	c.Renderings = cmp.Or(c.Renderings, 1)
	c.RenderingHeld = cmp.Or(c.RenderingHeld, time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Absence = cmp.Or(c.Absence, 5*time.Second)
	c.StopWithin = cmp.Or(c.StopWithin, 10*time.Second)
	return c
}

// Parts are what an engine works with; every one but the tracer is required.
type Parts struct {
	Queue    Queue
	Renderer Renderer
	Clock    core.Clock
	Observer Observer
	Busy     func() bool // whether this replica does what somebody waits for: a rendering makes room for it, a moment
	Log      *slog.Logger
	Tracer   *core.Tracer // nil: none
}

// Engine publishes for one replica. Run owns every goroutine it starts.
type Engine struct {
	Config
	Parts
	bell      core.Bell // look at the queue
	owner     core.ID
	rendering chan struct{}
	calls     context.Context // of everything under way; ended by cutOff
	cutOff    context.CancelFunc

	mu      sync.Mutex
	held    int
	lanes   map[int64]*lane
	plugins map[string]int // of what is held, how much is for whose platforms
	running sync.WaitGroup
}

// firstPlaces is how much may be under way at once to a platform of a business of
// which nothing is known yet.
const firstPlaces = 2

// lane is what this replica does at one platform of a business.
type lane struct {
	places   core.Places
	inFlight int
	absent   time.Time // until then it is left alone: its plugin is down or elsewhere, or the aggregator wants no more
}

// NewEngine makes an engine; nothing happens before Run.
func NewEngine(config Config, parts Parts) *Engine {
	config = config.withDefaults()
	calls, cutOff := context.WithCancel(context.Background())
	return &Engine{
		Config: config, Parts: parts, calls: calls, cutOff: cutOff, owner: core.NewID(parts.Clock.Now()),
		bell: core.NewBell(), rendering: make(chan struct{}, config.Renderings), lanes: map[int64]*lane{}, plugins: map[string]int{},
	}
}

// Wake makes the engine look at the queue soon. It never blocks.
func (e *Engine) Wake() { e.bell.Wake() }

// Run publishes until the context ends, then ends what is under way (at most
// StopWithin) and returns.
func (e *Engine) Run(ctx context.Context) {
	defer e.cutOff()
	for ctx.Err() == nil {
		e.look(ctx)
	}
	core.Drain(&e.running, e.StopWithin, func() {
		e.Log.Warn("cutting off menus on their way to aggregators")
		e.cutOff()
	})
}

// look claims what there is room for, then waits for a reason to look again: a
// wake-up, the due time of the next, or the poll.
func (e *Engine) look(ctx context.Context) {
	now := e.Clock.Now()
	next := now.Add(e.Poll)
	if room, busy := e.room(now); room > 0 {
		room = min(room, max(1, e.PluginHeld/2)) // what a plugin may hold is known only of what has been claimed
		claimed, due, err := e.Queue.Claim(ctx, e.owner, room, firstPlaces, busy, now.Add(e.Lease).Truncate(time.Microsecond))
		if err != nil && ctx.Err() == nil {
			e.Log.Error("publications could not be claimed", "error", err)
		}
		for _, work := range claimed {
			e.begin(work)
		}
		if len(claimed) > 0 {
			return
		}
		if !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	e.bell.Wait(ctx, e.Clock, next)
}

// room tells how much may be claimed now, and for whom nothing.
func (e *Engine) room(now time.Time) (int, core.Busy) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var busy core.Busy
	for endpoint, l := range e.lanes {
		switch {
		case l.inFlight >= l.places.Now || now.Before(l.absent):
			busy.Endpoints = append(busy.Endpoints, endpoint)
		case l.inFlight == 0 && l.places.Now >= e.first():
			delete(e.lanes, endpoint)
		}
	}
	for plugin, held := range e.plugins {
		if held >= e.PluginHeld {
			busy.Plugins = append(busy.Plugins, plugin)
		}
	}
	return e.Held - e.held, busy
}

func (e *Engine) first() int { return min(firstPlaces, e.EndpointInFlight) }

func (e *Engine) begin(work Work) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[work.Endpoint]
	if l == nil {
		l = &lane{places: core.Places{Now: e.first(), Most: e.EndpointInFlight}}
		e.lanes[work.Endpoint] = l
	}
	l.inFlight++
	e.hold(work, 1)
	e.running.Add(1)
	go e.run(l, work)
}

// hold counts work in or out. The caller holds mu.
func (e *Engine) hold(work Work, n int) {
	e.held += n
	if e.plugins[work.Plugin] += n; e.plugins[work.Plugin] == 0 {
		delete(e.plugins, work.Plugin)
	}
}

func (e *Engine) run(l *lane, work Work) {
	defer e.running.Done()
	start := e.Clock.Now()
	if work.Attempts == 0 {
		work.CallID = core.NewID(start)
	}
	ctx, span := e.Tracer.Begin(work.Trace.In(e.calls), core.ClientSpan, "publish", work.Plugin)
	work.Trace = core.TraceOf(ctx)
	result, wrong := e.publish(ctx, l, work), ""
	if result.State == Waiting || result.State == Failed {
		wrong = result.Message
	}
	span.Number("servery.business", int64(work.Business))
	span.Text("servery.platform", work.Platform)
	span.Text("servery.store", work.StoreRef)
	span.Text("servery.call", work.CallID.String())
	span.End(wrong)
	if result.State == left {
		e.leaveAlone(l, result.RetryAt)
		e.release(work)
	} else {
		e.Observer.Published(result, e.Clock.Now().Sub(start))
		e.tell(result)
		e.leaveAlone(l, result.SparedTo)
		if result.Untried {
			e.leaveAlone(l, e.Clock.Now().Add(e.Absence))
		}
		e.record(result)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.inFlight--
	e.hold(work, -1)
	e.Wake()
}

// leaveAlone takes no more of a lane until then. It goes before what makes the
// work free again: this replica would take it up at once.
func (e *Engine) leaveAlone(l *lane, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until.After(l.absent) {
		l.absent = until
	}
}

// release gives work back for another replica to take.
func (e *Engine) release(work Work) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Queue.Release(ctx, e.owner, work); err != nil {
		e.Log.Warn("the lease of a publication could not be given back; it will run out", "store", work.StoreRef, "platform", work.Platform, "error", err)
	}
}

// endMargin is what must be left of the lease when sending ends: time to record it.
const endMargin = 5 * time.Second

// publish renders the menu as it is now, and sends it where it is another one
// than the platform holds.
func (e *Engine) publish(ctx context.Context, l *lane, work Work) (result Result) {
	defer func() { // nobody else would catch it here
		if p := recover(); p != nil {
			result = refused(work, core.Errorf(core.Internal, "the hub failed: %v", p), e.Clock.Now())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, work.LeasedTo.Add(-endMargin).Sub(e.Clock.Now()))
	defer cancel()
	menu, err := e.render(ctx, work)
	if err != nil {
		return refused(work, err, e.Clock.Now())
	}
	result, send := rendered(work, menu, e.Clock.Now())
	if !send {
		return result
	}
	sent := menu.Send(ctx)
	e.mu.Lock()
	l.places.Ended(sent.Answered)
	e.mu.Unlock()
	return settled(result, sent, e.Clock.Now())
}

// render renders when the replica has room for it. Where it gets none in half of the
// lease, the work is given back as it was: the other half is for rendering and sending.
func (e *Engine) render(ctx context.Context, work Work) (Rendering, error) {
	wait, cancel := context.WithTimeout(ctx, e.Lease/2)
	defer cancel()
	select {
	case e.rendering <- struct{}{}:
	case <-wait.Done():
		return Rendering{}, core.Postponed{}
	}
	leave := sync.OnceFunc(func() { <-e.rendering })
	defer leave()
	defer time.AfterFunc(e.RenderingHeld, leave).Stop()
	e.makeRoom(ctx)
	return e.Renderer.Render(ctx, work)
}

// How long a rendering makes room, and how often it looks whether it still has to.
const (
	roomTime  = 250 * time.Millisecond
	roomPause = 5 * time.Millisecond
)

// makeRoom waits while the replica is busy. A burst of publications so takes
// nothing from others; where there is no end of jobs it still goes on.
func (e *Engine) makeRoom(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomTime)
	defer cancel()
	look := time.NewTicker(roomPause)
	defer look.Stop()
	for e.Busy() {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// record writes a result, again and again while the database is away, for as
// long as the lease lasts; then others take the work up.
func (e *Engine) record(result Result) {
	events, err := result.events()
	if err != nil {
		e.Log.Error("the outcome of a publication could not be told", "error", err)
	}
	core.Persist(result.Trace.In(e.calls), e.Clock, result.LeasedTo, func(ctx context.Context) error {
		err := e.Queue.Finish(ctx, e.owner, result, events)
		if err != nil {
			e.Log.Error("the outcome of a publication could not be recorded", "store", result.StoreRef, "platform", result.Platform, "error", err)
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
	e.Log.Log(context.Background(), level, "menu to an aggregator", "call", r.CallID, "business", r.Business, "store", r.StoreRef,
		"platform", r.Platform, "attempt", r.Attempts+1, "state", r.State, "unchanged", r.Unchanged, "message", r.Message)
}
