package publish

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// Observer receives the engine's metrics.
type Observer interface {
	Published(r Result, took time.Duration)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Owner    core.ID // of this replica in leases; the zero id: a new one
	Capacity int     // publications in progress in this replica: 32
	// of them for one plugin: half, so that a failing aggregator leaves capacity for others
	PluginCapacity   int
	EndpointLimit    int           // bound of the concurrency limit of one platform of a business: 8
	MaxRenderings    int           // of them being rendered: 1, so that menus take at most half of a small machine
	RenderSlotTime   time.Duration // 1 s; how long a rendering counts: a hanging one must not block the others
	Lease            time.Duration // 60 s; longer than rendering and sending
	Poll             time.Duration // as in queue.Config
	UnavailablePause time.Duration // 5 s; the pause of a platform whose plugin is down
	StopWithin       time.Duration // as in queue.Config
}

func (c Config) withDefaults() Config {
	c.Capacity = cmp.Or(c.Capacity, 32)
	c.PluginCapacity = cmp.Or(c.PluginCapacity, max(1, c.Capacity/2))
	c.EndpointLimit = cmp.Or(c.EndpointLimit, 8)
	c.MaxRenderings = cmp.Or(c.MaxRenderings, 1)
	c.RenderSlotTime = cmp.Or(c.RenderSlotTime, time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.UnavailablePause = cmp.Or(c.UnavailablePause, 5*time.Second)
	return c
}

// Dependencies are the dependencies of an engine. Every one but the tracer is required.
type Dependencies struct {
	Queue    Queue
	Renderer Renderer
	Clock    core.Clock
	Observer Observer
	Busy     func() bool // whether this replica runs work that a client waits for; a rendering then waits briefly
	Log      *slog.Logger
	Tracer   *core.Tracer // nil: none
}

// firstLimit is the initial concurrency limit of a platform of a business without history.
const firstLimit = 2

// Engine publishes for one replica.
type Engine struct {
	*queue.Engine[Work, Result]
	Config
	Dependencies
	renderSlots chan struct{}
}

// NewEngine returns an engine that is idle until Run.
func NewEngine(config Config, parts Dependencies) *Engine {
	config = config.withDefaults()
	e := &Engine{Config: config, Dependencies: parts, renderSlots: make(chan struct{}, config.MaxRenderings)}
	e.Engine = queue.New(queue.Config{
		Name: "menus for aggregators", Owner: config.Owner,
		Capacity: config.Capacity, GroupCapacity: config.PluginCapacity,
		Batch:       max(1, config.PluginCapacity/2), // the share of a plugin is checked only between claims
		FinishBatch: 1, Finishers: config.Capacity,   // a menu waits for no other
		KeyLimit: config.EndpointLimit, FirstLimit: firstLimit, ClaimPerKey: firstLimit,
		Lease: config.Lease, StartMargin: config.Lease / 2, Poll: config.Poll,
		StopWithin: config.StopWithin,
	}, policy{e}, parts.Clock, parts.Log)
	return e
}

// policy is how the engine processes its queue (queue.Policy).
type policy struct{ *Engine }

// Claim leases due work.
func (p policy) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (queue.Batch[Work], error) {
	return p.Queue.Claim(ctx, owner, capacity, until)
}

// Lease describes leased work. A platform of a business is the key, its plugin the group.
func (policy) Lease(work Work) queue.Lease {
	return queue.Lease{ID: fmt.Sprintf("%d/%d/%s", work.Business, work.StoreID, work.Platform), Key: work.Endpoint,
		Group: work.Plugin, Until: work.LeasedUntil}
}

// Run publishes. A platform is paused while its plugin is down or elsewhere, or while the aggregator throttles.
func (p policy) Run(ctx context.Context, work Work) (Result, queue.Outcome) {
	start := p.Clock.Now()
	if work.CallID == (core.ID{}) {
		work.CallID = core.NewID(start)
	}
	ctx, span := p.Tracer.Start(work.Trace.NewContext(ctx), core.ClientSpan, "publish", work.Plugin)
	work.Trace = core.TraceFromContext(ctx)
	result, response := p.publish(ctx, work)
	wrong := ""
	if result.State == Waiting || result.State == Failed {
		wrong = result.Message
	}
	span.SetInt64("servery.business", int64(work.Business))
	span.SetString("servery.platform", work.Platform)
	span.SetString("servery.store", work.StoreRef)
	span.SetString("servery.call", work.CallID.String())
	span.End(wrong)
	outcome := queue.Outcome{Response: response, PausedUntil: result.RetryAfter}
	if result.State == leftToPeer {
		outcome.Next, outcome.PausedUntil = queue.Release, result.RetryAt
		return result, outcome
	}
	if queue.Abandoned(ctx) && response == queue.NoRequest {
		return result, queue.Outcome{Next: queue.Release}
	}
	if absent := p.Clock.Now().Add(p.UnavailablePause); result.Uncounted && absent.After(outcome.PausedUntil) {
		outcome.PausedUntil = absent
	}
	if queue.Abandoned(ctx) && response == queue.NoResponse && (result.State == Waiting || result.State == Failed) {
		wait, _ := schedule().After(1) // the aggregator may still work on the menu
		result.State, result.Uncounted = Waiting, true
		result.RetryAt, result.RetryAfter = p.Clock.Now().Add(wait), time.Time{}
	}
	p.Observer.Published(result, p.Clock.Now().Sub(start))
	p.report(result)
	return result, outcome
}

// Finish records results with their events.
func (p policy) Finish(ctx context.Context, owner core.ID, results []Result) (queue.FinishResult, error) {
	for _, result := range results {
		events, err := result.Events()
		if err != nil {
			p.Log.Error("encoding publication events failed", "error", err)
		}
		if err := p.Queue.Finish(result.Trace.NewContext(ctx), owner, result, events); err != nil {
			return queue.FinishResult{}, fmt.Errorf("store %s on %s: %w", result.StoreRef, result.Platform, err)
		}
	}
	return queue.FinishResult{Due: true}, nil
}

// Release returns work to the queue.
func (p policy) Release(ctx context.Context, owner core.ID, list []Work) error {
	for _, work := range list {
		if err := p.Queue.Release(ctx, owner, work); err != nil {
			return fmt.Errorf("store %s on %s: %w", work.StoreRef, work.Platform, err)
		}
	}
	return nil
}

// endMargin is the part of the lease that is reserved for recording the result.
const endMargin = 5 * time.Second

// publish renders the current menu, and sends it if the platform's menu differs.
func (e *Engine) publish(ctx context.Context, work Work) (result Result, response queue.Response) {
	defer func() { // a panic here would end the process
		if p := recover(); p != nil {
			e.Log.Error("publishing a menu panicked", "business", work.Business, "store", work.StoreRef, "platform",
				work.Platform, "panic", p, "stack", string(debug.Stack()))
			result = renderFailure(work, core.Errorf(core.Internal, "the hub failed"), e.Clock.Now())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, work.LeasedUntil.Add(-endMargin).Sub(e.Clock.Now()))
	defer cancel()
	if result, ok := overdue(work, e.Clock.Now()); ok {
		return result, queue.NoRequest
	}
	menu, err := e.render(ctx, work)
	if err != nil {
		return e.renderFailed(work, err), queue.NoRequest
	}
	result, send := renderResult(work, menu, e.Clock.Now())
	if !send {
		return result, queue.NoRequest
	}
	sent := menu.Send(ctx)
	switch response = queue.NoResponse; {
	case sent.Responded:
		response = queue.Responded
	case sent.Unsent:
		response = queue.NoRequest
	}
	return finalResult(result, sent, e.Clock.Now()), response
}

// renderFailed returns the result of a failed rendering, and logs the detail of the error. The message of the result is
// for people outside of the hub.
func (e *Engine) renderFailed(work Work, err error) Result {
	result := renderFailure(work, err, e.Clock.Now())
	if result.State != leftToPeer {
		e.Log.Info("rendering a menu failed", "business", work.Business, "store", work.StoreRef, "platform",
			work.Platform,
			"error", err)
	}
	return result
}

// render renders a menu when the replica has capacity. If there is none in the first half of the lease, it releases
// the work unchanged: the other half is for rendering and sending.
func (e *Engine) render(ctx context.Context, work Work) (Rendering, error) {
	wait, cancel := context.WithTimeout(ctx, work.LeasedUntil.Add(-e.Lease/2).Sub(e.Clock.Now()))
	defer cancel()
	select {
	case e.renderSlots <- struct{}{}:
	default:
		select {
		case e.renderSlots <- struct{}{}:
		case <-wait.Done():
			return Rendering{}, core.Snooze{}
		}
	}
	leave := sync.OnceFunc(func() { <-e.renderSlots })
	defer leave()
	defer time.AfterFunc(e.RenderSlotTime, leave).Stop()
	e.awaitIdle(ctx)
	return e.Renderer.Render(ctx, work)
}

// The longest wait of a rendering for other work, and the interval at which it checks.
const (
	idleWait     = 250 * time.Millisecond
	idleInterval = 5 * time.Millisecond
)

// awaitIdle waits while the replica is busy, up to a limit. A burst of publications thus does not slow down other
// work, and constant load does not stop publishing.
func (e *Engine) awaitIdle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, idleWait)
	defer cancel()
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	for e.Busy() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// report logs a result.
func (e *Engine) report(r Result) {
	level := slog.LevelDebug
	switch r.State {
	case Waiting:
		level = slog.LevelInfo
	case Failed:
		level = slog.LevelWarn
	}
	e.Log.Log(context.Background(), level, "menu published", "call", r.CallID, "business", r.Business, "store",
		r.StoreRef, "platform", r.Platform, "attempt", r.Attempts+1, "state", r.State, "unchanged", r.Unchanged,
		"message", r.Message)
}
