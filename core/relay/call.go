package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Bounds of one call: the time to plan it or to interpret its response, and the part of its lease that must remain.
const (
	planTimeout = 4 * time.Second
	startMargin = 13 * time.Second
)

// errPanic is the error of a call whose planning or interpretation panicked.
var errPanic = core.Errorf(core.Internal, "the hub failed")

// execute plans a call, sends it and evaluates the response.
func (e *Engine) execute(calls context.Context, c Call) (result Result) {
	defer func() { // a panic here would end the process
		if p := recover(); p != nil {
			e.Log.Error("making a call failed", "call", c.ID, "panic", p)
			result = planFailure(c, errPanic, e.Clock.Now())
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
	access, err := e.Platforms.Access(ctx, c.Business, c.Platform)
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
	case decision.Plan == nil:
		return Result{Call: c, State: Skipped, Message: cmp.Or(decision.Skip, "the plugin sends nothing"),
			FinishedAt: e.Clock.Now()}
	}
	return Dispatcher{Sender: e.Sender, Clock: e.Clock, Log: e.Log}.Send(calls, c, *decision.Plan, access,
		func(ctx context.Context, response Response) (Outcome, error) {
			return e.Plugins.Interpret(ctx, c, access.Settings, response)
		})
}

// Dispatcher sends plans, with URL and secrets, one attempt each.
type Dispatcher struct {
	Sender Sender
	Clock  core.Clock
	Log    *slog.Logger
}

// Send sends the plan of a call and evaluates the response. The plugin reads the response through interpret. It does
// not record the attempt.
func (e Dispatcher) Send(ctx context.Context, c Call, plan Plan, access Access,
	interpret func(context.Context, Response) (Outcome, error)) Result {
	request, err := plan.buildRequest(access)
	if err != nil {
		result := notSent(c, plan, err, e.Clock.Now())
		result.MissingSetting = true
		return result
	}
	attempt := e.Sender.Send(ctx, request)
	var outcome Outcome
	if attempt.ErrorClass == "" {
		ctx, cancel := context.WithTimeout(ctx, planTimeout)
		defer cancel()
		response := Response{Status: attempt.Status, Headers: make(map[string]string, len(attempt.ResponseHeaders)),
			Body: attempt.ResponseBody}
		for name, value := range attempt.ResponseHeaders {
			response.Headers[strings.ToLower(name)] = value
		}
		if outcome, err = interpret(ctx, response); err != nil {
			outcome = interpretFailure(plan, response, err)
			e.Log.Warn("interpreting a response failed", "call", c.ID, "platform", c.Platform, "error", err)
		}
	}
	return resultOf(c, plan, attempt, outcome, e.Clock.Now())
}
