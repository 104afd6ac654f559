package relay

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/queue"
)

// Queue stores pending calls. Replicas share it.
type Queue interface {
	// Claim leases the first due call of each ordering key to the owner, within the capacity. The keys of the
	// capacity are endpoints, and the groups are plugins.
	Claim(ctx context.Context, owner core.ID, capacity queue.Capacity, until time.Time) (queue.Batch[Call], error)
	// Finish records the results of calls in one transaction.
	Finish(ctx context.Context, owner core.ID, results []Result) error
	// Release returns leased calls to the queue without changing their due time.
	Release(ctx context.Context, owner core.ID, calls []Call) error
}

// Observer receives the engine's metrics.
type Observer interface {
	Called(r Result)
}

// Config sets the engine's bounds. Zero values take the defaults.
type Config struct {
	Owner    core.ID // of this replica in leases; the zero id: a new one
	Capacity int     // calls leased to this replica at once: 1024
	// of them for one plugin: half, so that a failing aggregator leaves capacity for others
	PluginCapacity int
	EndpointLimit  int           // bound of the concurrency limit of one platform of a business: 16
	Lease          time.Duration // 32 s; longer than planning, an exchange and its recording
	Poll           time.Duration // as in queue.Config
	StopWithin     time.Duration // as in queue.Config
}

func (c Config) withDefaults() Config {
	c.Capacity = cmp.Or(c.Capacity, 1024)
	c.PluginCapacity = cmp.Or(c.PluginCapacity, max(1, c.Capacity/2))
	c.EndpointLimit = cmp.Or(c.EndpointLimit, 16)
	c.Lease = cmp.Or(c.Lease, 32*time.Second)
	return c
}

// Dependencies are the dependencies of an engine. Tokens and Rates are required for plans that need
// them, and the tracer is optional.
type Dependencies struct {
	Queue     Queue
	Plugins   Plugins
	Platforms Platforms
	Sender    Sender
	Fetcher   Sender // of InboundFetch and Poll, which read longer responses
	Tokens    AccessTokens
	Rates     Rates
	Clock     core.Clock
	Observer  Observer
	SaveSteps SaveSteps    // nil: none are stored
	Values    Values       // nil: plugins keep none
	Tracer    *core.Tracer // nil: none
	Log       *slog.Logger
}

// firstLimit is the initial concurrency limit of a platform of a business without history.
const firstLimit = 4

// Engine makes the calls of one replica.
type Engine struct {
	*queue.Engine[Call, Result]
	Config
	Dependencies
	absent absentPlugins

	largePlans atomic.Int64 // bytes of those that are sent

	mu        sync.Mutex
	throttled map[throttle]pause
}

// throttle identifies the calls that an aggregator throttles: one kind, on one platform of a business.
type throttle struct {
	endpoint int64
	kind     Kind
}

// pause is a time without calls. Before its start, the clock was set back: then it is over.
type pause struct{ from, until time.Time }

// pauseMargin is how far the clock may be corrected backwards during a pause.
const pauseMargin = time.Minute

func (p pause) over(now time.Time) bool { return now.Before(p.from) || !now.Before(p.until) }

// NewEngine returns an engine that is idle until Run.
func NewEngine(config Config, parts Dependencies) *Engine {
	config = config.withDefaults()
	e := &Engine{Config: config, Dependencies: parts, throttled: map[throttle]pause{}}
	e.Engine = queue.New(queue.Config{
		Name: "calls to aggregators", Owner: config.Owner,
		Capacity: config.Capacity, GroupCapacity: config.PluginCapacity,
		Batch:    max(1, config.PluginCapacity/4), // the share of a plugin is checked only between claims
		KeyLimit: config.EndpointLimit, FirstLimit: firstLimit, ClaimPerKey: 2 * config.EndpointLimit,
		Lease: config.Lease, StartMargin: startMargin, Poll: config.Poll,
		StopWithin: config.StopWithin,
	}, policy{e}, parts.Clock, parts.Log)
	return e
}

// policy is how the engine processes its queue (queue.Policy).
type policy struct{ *Engine }

// Claim leases due calls.
func (p policy) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (queue.Batch[Call], error) {
	return p.Queue.Claim(ctx, owner, capacity, until)
}

// Lease describes a leased call. A platform of a business is the key, its plugin the group.
func (policy) Lease(c Call) queue.Lease {
	return queue.Lease{ID: fmt.Sprintf("%d/%s", c.Business, c.OrderingKey), Key: c.Endpoint,
		Group: c.Plugin, Until: c.LeasedUntil}
}

// Run makes a call. If another replica has the plugin, the call is released to it, and the platform is paused.
func (p policy) Run(ctx context.Context, c Call) (Result, queue.Outcome) {
	ctx, span := p.Tracer.Start(c.Trace.NewContext(ctx), core.ClientSpan, "relay", string(c.Kind))
	c.Trace = core.TraceFromContext(ctx)
	result, wrong := p.execute(ctx, c), ""
	if result.State == Waiting || result.State == Failed {
		wrong = result.Message
	}
	span.SetInt64("servery.business", int64(c.Business))
	span.SetString("servery.platform", c.Platform)
	span.SetString("servery.call", c.ID.String())
	span.End(wrong)
	switch {
	case result.State == leftToPeer:
		return result, queue.Outcome{Next: queue.Release, PausedUntil: result.RetryAt}
	case queue.Abandoned(ctx) && (result.Attempt == nil || !result.Attempt.Responded()):
		if !result.sent() {
			return result, queue.Outcome{Next: queue.Release}
		}
		wait, _ := schedule().After(1) // the receiver may still work on the request
		result = recordOnly(result, p.Clock.Now().Add(wait))
	}
	result.clip()
	p.Observer.Called(result)
	p.report(result)
	p.throttle(result)
	return result, queue.Outcome{Response: result.Response()}
}

// Finish records results. The next call of an ordering key may be due then.
func (p policy) Finish(ctx context.Context, owner core.ID, results []Result) (queue.FinishResult, error) {
	return queue.FinishResult{Due: true}, p.Queue.Finish(ctx, owner, results)
}

// Release returns calls to the queue.
func (p policy) Release(ctx context.Context, owner core.ID, calls []Call) error {
	return p.Queue.Release(ctx, owner, calls)
}

// throttle notes until when an aggregator throttles the kind of a call. It forgets what is past.
func (e *Engine) throttle(r Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, of := e.Clock.Now(), throttle{r.Call.Endpoint, r.Call.Kind}
	if p := e.throttled[of]; r.RetryAfter.After(now) && (p.over(now) || r.RetryAfter.After(p.until)) {
		maps.DeleteFunc(e.throttled, func(_ throttle, p pause) bool { return p.over(now) })
		e.throttled[of] = pause{now.Add(-pauseMargin), r.RetryAfter}
	}
}

// throttledUntil returns until when the aggregator throttles the kind of the call, or the zero time if it does not.
func (e *Engine) throttledUntil(c Call) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.throttled[throttle{c.Endpoint, c.Kind}]; !p.over(e.Clock.Now()) {
		return p.until
	}
	return time.Time{}
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
	log := e.Log
	if id := r.Call.Trace.ID(); id != "" {
		log = log.With("trace_id", id)
	}
	log.Log(context.Background(), level, "aggregator call", "call", r.Call.ID, "kind", r.Call.Kind, "business",
		r.Call.Business, "platform", r.Call.Platform, "order", r.Call.Order.ID, "attempt", r.Call.Attempts+1, "state",
		r.State, "message", r.Message)
}
