package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// The outcomes of a call (Observer).
const (
	outcomeOK       = "ok"
	outcomeRefused  = "refused"
	outcomeAbsent   = "absent"
	outcomeWrong    = "wrong"
	outcomeDown     = "down"
	outcomeLate     = "late"
	outcomeFailed   = "failed"
	outcomeCanceled = "canceled"
)

// invoke makes a call to a plugin, within the plugin's concurrency limit. Calls have no side effects, so a call
// that is lost with its process is retried once with the next process. Its errors are those of core:
//
//	Invalid      the plugin rejected the request; the message says why
//	NotFound     it does not have the capability
//	Unavailable  it is not installed here, not running, or timed out (Internal for a decision)
//	Internal     it failed, or its result was invalid
func invoke[A any](ctx context.Context, p Plugin, s Subject, call string,
	do func(context.Context, *instance) (A, error)) (result A, err error) {
	clock, outcome := p.host.config.Clock, outcomeOK
	start := clock.Now()
	ctx, span := p.host.config.Tracer.Start(ctx, core.ClientSpan, p.id, call)
	defer func() {
		p.host.config.Observer.PluginCalled(p.id, call, outcome, clock.Now().Sub(start))
		if outcome == outcomeOK {
			span.End("")
		} else {
			span.End(outcome)
		}
	}()
	if trace := core.TraceFromContext(ctx); trace != "" {
		ctx = sdk.WithTraceparent(ctx, string(trace))
	}
	k := p.host.supervisor(p.id)
	if k == nil {
		outcome = outcomeAbsent
		return result, &core.Error{Code: core.Unavailable,
			Message: "plugin " + p.id + " is not installed at this replica of the hub", RetryAfter: minBackoff}
	}
	var none A
	var lost *instance
	for {
		i, release, err := k.acquire(ctx, lost)
		if err != nil {
			outcome = outcomeDown
			return none, err
		}
		result, disconnected, err := attempt(ctx, i, do)
		release()
		switch {
		case err == nil:
			i.resetTimeouts()
			return result, nil
		case lost == nil && ctx.Err() == nil && disconnected:
			lost = i
		default:
			outcome, err = k.mapError(ctx, call, err, disconnected)
			i.countTimeout(outcome, callRecord{call, s.Business, s.Platform, s.Key})
			return none, err
		}
	}
}

// attempt makes a call to an instance and checks the result. It reports whether the call was lost with the connection.
func attempt[A any](ctx context.Context, i *instance,
	do func(context.Context, *instance) (A, error)) (result A, disconnected bool, err error) {
	var replied atomic.Bool
	result, err = do(context.WithValue(ctx, replyTracker{}, &replied), i)
	if message, ok := any(result).(proto.Message); ok && err == nil {
		if err = checkResult(i, message); err == nil {
			truncateTexts(message)
		}
	}
	return result, err != nil && !replied.Load() && isConnectionLost(err), err
}

// countTimeout updates the count of consecutive timeouts after a failed call.
func (i *instance) countTimeout(outcome string, call callRecord) {
	switch {
	case outcome == outcomeCanceled:
	case outcome != outcomeLate:
		i.resetTimeouts()
	case call.call != checkItemsCall:
		i.recordTimeout(call)
	}
}

// checkItemsCall is a call whose timeout does not mean that the plugin hangs. It takes longer with more items, and
// the hub's limit is short.
const checkItemsCall = "Menu.CheckItems"

// timeoutError is the error of a call that timed out.
type timeoutError struct{ error }

// Unwrap returns the core error.
func (t timeoutError) Unwrap() error { return t.error }

// crashError is the error of a call during which the plugin's process ended, twice.
type crashError struct{ error }

// Unwrap returns the core error.
func (c crashError) Unwrap() error { return c.error }

// callRecord identifies a call. Retries of a call are equal, and so are all calls without a key about one platform.
type callRecord struct {
	call     string
	business core.BusinessID
	platform string
	key      string
}

// callWithin makes a call with a time limit. A timeout of a running plugin is Internal: a failure of this call, which
// may be retried a few times. A plugin that cannot be called stays Unavailable.
func callWithin[A any](ctx context.Context, p Plugin, within time.Duration,
	do func(context.Context) (A, error)) (A, error) {
	ctx, cancel := withTimeout(ctx, p.host.config.Clock, within)
	defer cancel()
	result, err := do(ctx)
	if errors.As(err, new(timeoutError)) {
		err = core.Errorf(core.Internal, "%s", err)
	}
	return result, err
}

// checkResult returns a fault for an invalid result, such as a plan that uses more than the plugin declares.
func checkResult(i *instance, result proto.Message) error {
	if err := sdk.CheckResult(i.description, result); err != nil {
		return &sdk.Fault{Message: oneLine(err)}
	}
	return nil
}

// isConnectionLost reports whether a call was lost with the process or the connection. Calls on a connection that the
// hub closes end as canceled.
func isConnectionLost(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// replyTracker records that the plugin itself ended a call, so that the status is the plugin's. Otherwise the status is
// from the connection (stats.Handler).
type replyTracker struct{}

// HandleRPC sets the flag in the call's context.
func (replyTracker) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ended := event.(*stats.InTrailer); ended {
		if replied, ok := ctx.Value(replyTracker{}).(*atomic.Bool); ok {
			replied.Store(true)
		}
	}
}

// TagRPC does nothing.
func (replyTracker) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn does nothing.
func (replyTracker) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (replyTracker) HandleConn(context.Context, stats.ConnStats) {}

// acquire returns the serving instance of a plugin, within its concurrency limit. If the plugin is starting, or has
// just lost the caller's instance, acquire waits for up to Patience.
func (k *supervisor) acquire(ctx context.Context, lost *instance) (*instance, func(), error) {
	var due <-chan time.Time
	for {
		k.mu.Lock()
		i, slots, changed, state := k.current, k.slots, k.changed, k.state
		k.mu.Unlock()
		if i != nil && i != lost {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return nil, nil, k.unavailable(state, "its concurrency limit is reached")
			}
			if ctx.Err() != nil { // both were ready
				<-slots
				return nil, nil, k.unavailable(state, "its concurrency limit is reached")
			}
			if i.beginCall() {
				return i, func() { i.endCall(); <-slots }, nil
			}
			<-slots // it was replaced in the meantime
			lost = i
			continue
		}
		if state == Quarantined || state == Stopped || state == Draining {
			return nil, nil, k.unavailable(state, "")
		}
		if due == nil {
			clock := k.host.config.Clock
			var stopTimer func()
			due, stopTimer = clock.At(clock.Now().Add(k.host.config.StartWait))
			defer stopTimer()
		}
		select {
		case <-changed:
		case <-due:
			return nil, nil, k.unavailable(state, "")
		case <-ctx.Done():
			return nil, nil, k.unavailable(state, "")
		}
	}
}

// unavailable returns the error of a plugin that cannot be called now.
func (k *supervisor) unavailable(state State, why string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if why == "" {
		why = "it is " + string(state)
		if len(k.faults) > 0 {
			why += ": " + k.faults[0].Text
		}
	}
	err := core.Errorf(core.Unavailable, "plugin %s is unavailable: %s", k.id, why)
	err.RetryAfter = minBackoff
	return err
}

// mapError turns the error of a call into an outcome and a core error.
func (k *supervisor) mapError(ctx context.Context, call string, err error, lost bool) (string, error) {
	var wrong *sdk.Fault
	code := status.Code(err)
	if errors.As(err, &wrong) || code == codes.ResourceExhausted {
		fault := fmt.Errorf("%s: invalid response: %s", call, errorMessage(err))
		k.recordFault(fault, false)
		return outcomeWrong, core.Errorf(core.Internal, "plugin %s: %v", k.id, fault)
	}
	switch {
	case sdk.IsRefusal(err):
		return outcomeRefused, core.Errorf(core.Invalid, "plugin %s: %s", k.id, errorMessage(err))
	case sdk.IsAbsent(err):
		return outcomeAbsent, core.Errorf(core.NotFound, "plugin %s: %s", k.id, errorMessage(err))
	case errors.Is(context.Cause(ctx), context.Canceled):
		return outcomeCanceled, ctx.Err()
	case code == codes.DeadlineExceeded || ctx.Err() != nil:
		fault := fmt.Errorf("%s: no response in time", call)
		k.recordFault(fault, false)
		return outcomeLate, timeoutError{core.Errorf(core.Unavailable, "plugin %s: %v", k.id, fault)}
	case lost:
		return outcomeDown, crashError{core.Errorf(core.Unavailable, "plugin %s exited twice during a call (%s)", k.id,
			call)}
	default:
		fault := fmt.Errorf("%s: failed: %s", call, errorMessage(err))
		k.recordFault(fault, false)
		return outcomeFailed, core.Errorf(core.Internal, "plugin %s: %v", k.id, fault)
	}
}
