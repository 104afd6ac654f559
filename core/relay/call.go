package relay

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/servery-hub/servery/core"
)

// Bounds of one call: the time to plan it or to interpret its response, and the part of its lease that must remain.
const (
	planTimeout = 4 * time.Second
	endMargin   = time.Second      // of the lease, for recording the result
	startMargin = 25 * time.Second // for planning, a token, two requests within a rate limit, and interpreting
)

// errPanic is the error of a call during which the hub panicked.
var errPanic = core.Errorf(core.Internal, "the hub failed")

// execute plans a call, sends it and evaluates the response.
func (e *Engine) execute(calls context.Context, c Call) (result Result) {
	outcome := planFailure
	defer func() { // a panic here would end the process
		if p := recover(); p != nil {
			e.Log.Error("making a call failed", "call", c.ID, "panic", p, "stack", string(debug.Stack()))
			result = outcome(c, errPanic, e.Clock.Now())
		}
	}()
	if c.Plugin == core.ServedByMerchant || c.Plugin == "" {
		return Result{Call: c, State: Skipped, Message: "the platform has no plugin", FinishedAt: e.Clock.Now()}
	}
	if until := e.throttledUntil(c); !until.IsZero() {
		return delayThrottled(c, until, e.Clock.Now())
	}
	if reason := e.absent.reason(c.Plugin, e.Plugins, e.Clock.Now()); reason != "" {
		return delayAbsent(c, reason, e.Clock.Now())
	}
	ctx, cancel := context.WithTimeout(calls, planTimeout)
	defer cancel()
	access, err := e.readAccess(ctx, &c)
	if err != nil {
		e.Log.Warn("reading the settings of a platform failed", "call", c.ID, "platform", c.Platform, "error", err)
		return delayUnavailable(c, "reading the settings of the platform failed: "+core.PublicMessage(err),
			e.Clock.Now())
	}
	decision, err := e.Plugins.Plan(ctx, c, access.Settings)
	var snooze core.Snooze
	var fault *core.Error
	if err != nil && !errors.As(err, &snooze) {
		e.Log.Info("planning a call failed", "call", c.ID, "kind", c.Kind, "platform", c.Platform, "error", err)
	}
	switch code := core.CodeOf(err); {
	case errors.As(err, &snooze):
		return Result{Call: c, State: leftToPeer, RetryAt: snooze.Until}
	case code == core.Invalid:
		return Result{Call: c, State: Failed, Message: core.PublicMessage(err), FinishedAt: e.Clock.Now()}
	case code == core.NotFound:
		return Result{Call: c, State: Skipped, Message: core.PublicMessage(err), FinishedAt: e.Clock.Now()}
	case code == core.Internal && errors.As(err, &fault):
		return planFailure(c, err, e.Clock.Now())
	case err != nil:
		reason := "planning the call failed: " + core.PublicMessage(err)
		e.absent.mark(c.Plugin, e.Plugins, e.Clock.Now(), reason)
		return delayUnavailable(c, reason, e.Clock.Now())
	case decision.Done != "":
		return Result{Call: c, State: Done, Message: decision.Done, FinishedAt: e.Clock.Now()}
	case decision.Plan == nil:
		return Result{Call: c, State: Skipped, Message: cmp.Or(decision.Skip, "the plugin sends nothing"),
			FinishedAt: e.Clock.Now()}
	}
	if size := decision.Plan.size(); size > largePlan {
		defer e.largePlans.Add(-size)
		if e.largePlans.Add(size) > maxLargePlans {
			return delayUnavailable(c, "the hub sends many large requests at the moment", e.Clock.Now())
		}
	}
	calls, stop := context.WithTimeout(calls, c.LeasedUntil.Add(-endMargin).Sub(e.Clock.Now()))
	defer stop()
	outcome = sendFailure
	return e.dispatcher(c).Send(calls, c, *decision.Plan, access,
		func(ctx context.Context, response Response) (Outcome, error) {
			return e.Plugins.Interpret(ctx, c, access.Settings, response)
		})
}

// The memory of the large plans that are sent at once, in bytes. Others need no bound, because Config.Capacity bounds
// their number.
const (
	largePlan     = 64 << 10
	maxPlan       = 16 << 20 // of the message that contains it; its steps may share a body
	maxLargePlans = 4 * maxPlan
)

// size returns the bytes of the bodies of a plan.
func (p *Plan) size() int64 {
	size := len(p.Body)
	for i := range p.Steps {
		body := &p.Steps[i].Body
		size += len(body.Raw)
		for _, part := range body.Parts {
			size += len(part.Text) + len(part.Content)
		}
	}
	return int64(min(size, maxPlan))
}

// readAccess returns the settings of the platform of a call. It adds the values that the plugin keeps to the call.
func (e *Engine) readAccess(ctx context.Context, c *Call) (access Access, err error) {
	access, err = e.Platforms.Access(ctx, c.Business, c.Platform)
	if err == nil && access.HasValues && e.Values != nil {
		c.Values, err = e.Values.Values(ctx, c.Business, c.Platform, c.StoreRefID())
	}
	return access, err
}

func (e *Engine) dispatcher(c Call) Dispatcher {
	d := Dispatcher{Sender: e.Sender, Tokens: e.Tokens, Rates: e.Rates, Clock: e.Clock, Log: e.Log,
		SaveSteps: e.SaveSteps}
	if (c.Kind == InboundFetch || c.Kind == Poll) && e.Fetcher != nil {
		d.Sender = e.Fetcher
	}
	return d
}
