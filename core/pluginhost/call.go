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
	calledOK       = "ok"
	calledRefused  = "refused"
	calledAbsent   = "absent"
	calledWrong    = "wrong"
	calledDown     = "down"
	calledLate     = "late"
	calledFailed   = "failed"
	calledCanceled = "canceled"
)

// ask makes a call to a plugin, within the plugin's concurrency limit. Calls have no side effects, so a call
// that is lost with its process is retried once with the next process. Its errors are those of core:
//
//	Invalid      the plugin rejected the request; the message says why
//	NotFound     it does not have the capability
//	Unavailable  it is not installed here, not running, or timed out (Internal for a decision)
//	Internal     it failed, or its answer was wrong
func ask[A any](ctx context.Context, p Plugin, s Subject, call string,
	question func(context.Context, *instance) (A, error)) (answer A, err error) {
	clock, outcome := p.host.config.Clock, calledOK
	start := clock.Now()
	ctx, span := p.host.config.Tracer.Start(ctx, core.ClientSpan, p.id, call)
	defer func() {
		p.host.config.Observer.PluginCalled(p.id, call, outcome, clock.Now().Sub(start))
		if outcome == calledOK {
			span.End("")
		} else {
			span.End(outcome)
		}
	}()
	if trace := core.TraceFromContext(ctx); trace != "" {
		ctx = sdk.WithTraceparent(ctx, string(trace))
	}
	k := p.host.keeper(p.id)
	if k == nil {
		outcome = calledAbsent
		return answer, &core.Error{Code: core.Unavailable,
			Message: "plugin " + p.id + " is not installed at this replica of the hub", RetryAfter: firstBackoff}
	}
	var lost *instance
	for {
		i, release, err := k.acquire(ctx, lost)
		if err != nil {
			outcome = calledDown
			return answer, err
		}
		var replied atomic.Bool
		answer, err = question(context.WithValue(ctx, replies{}, &replied), i)
		release()
		message, is := any(answer).(proto.Message)
		if err == nil && is {
			err = checked(i, message)
		}
		if err == nil {
			i.inTime()
			if is {
				brief(message)
			}
			return answer, nil
		}
		unanswered := !replied.Load() && isLost(err)
		if lost == nil && ctx.Err() == nil && unanswered {
			lost = i
			continue
		}
		var none A
		outcome, err = k.explain(ctx, call, err, unanswered)
		switch outcome {
		case calledCanceled:
		case calledLate:
			if call != checkItems {
				i.tooLate(asked{call, s.Business, s.Platform, s.Key})
			}
		default:
			i.inTime()
		}
		return none, err
	}
}

// checkItems is a call whose timeout does not mean that the plugin hangs: it takes longer with more items,
// and the hub sets a short limit.
const checkItems = "Menu.CheckItems"

// late is the error of a call that timed out.
type late struct{ error }

// Unwrap returns the core error.
func (l late) Unwrap() error { return l.error }

// fatal is the error of a call during which the plugin's process ended, twice.
type fatal struct{ error }

// Unwrap returns the core error.
func (f fatal) Unwrap() error { return f.error }

// asked identifies a call. Retries of a call are equal, and so are all calls without a key about one platform.
type asked struct {
	call     string
	business core.BusinessID
	platform string
	key      string
}

// bounded makes a call with a time limit. A timeout of a running plugin is Internal: a failure of this call, which
// may be retried a few times. A plugin that cannot be called stays Unavailable.
func bounded[A any](ctx context.Context, p Plugin, within time.Duration,
	question func(context.Context) (A, error)) (A, error) {
	ctx, cancel := until(ctx, p.host.config.Clock, within)
	defer cancel()
	answer, err := question(ctx)
	if errors.As(err, new(late)) {
		err = core.Errorf(core.Internal, "%s", err)
	}
	return answer, err
}

// checked returns the fault of an unusable answer, such as a plan that uses more than the plugin declares.
func checked(i *instance, answer proto.Message) error {
	if err := sdk.CheckAnswer(i.about, answer); err != nil {
		return &sdk.Fault{Message: inOneLine(err)}
	}
	return nil
}

// isLost reports whether a call was lost with the process or the connection. Calls on a connection that the hub
// closes end as canceled.
func isLost(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.Canceled
}

// replies records that the plugin itself ended a call, so that the status is the plugin's. Otherwise the status is
// from the connection (stats.Handler).
type replies struct{}

// HandleRPC sets the flag in the call's context.
func (replies) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ended := event.(*stats.InTrailer); ended {
		if replied, ok := ctx.Value(replies{}).(*atomic.Bool); ok {
			replied.Store(true)
		}
	}
}

// TagRPC does nothing.
func (replies) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn does nothing.
func (replies) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (replies) HandleConn(context.Context, stats.ConnStats) {}

// acquire returns the serving instance of a plugin, within its concurrency limit. If the plugin is starting, or has
// just lost the caller's instance, acquire waits for up to Patience.
func (k *keeper) acquire(ctx context.Context, lost *instance) (*instance, func(), error) {
	var due <-chan time.Time
	for {
		k.mu.Lock()
		i, slots, changed, state := k.current, k.slots, k.changed, k.state
		k.mu.Unlock()
		if i != nil && i != lost {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return nil, nil, k.down(state, "its concurrency limit is reached")
			}
			if ctx.Err() != nil { // both were ready
				<-slots
				return nil, nil, k.down(state, "its concurrency limit is reached")
			}
			if i.begin() {
				return i, func() { i.done(); <-slots }, nil
			}
			<-slots // it was replaced in the meantime
			lost = i
			continue
		}
		if state == Quarantined || state == Stopped || state == Draining {
			return nil, nil, k.down(state, "")
		}
		if due == nil {
			clock := k.host.config.Clock
			var giveUp func()
			due, giveUp = clock.At(clock.Now().Add(k.host.config.Patience))
			defer giveUp()
		}
		select {
		case <-changed:
		case <-due:
			return nil, nil, k.down(state, "")
		case <-ctx.Done():
			return nil, nil, k.down(state, "")
		}
	}
}

// down returns the error of a plugin that cannot be called now.
func (k *keeper) down(state State, why string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if why == "" {
		why = "it is " + string(state)
		if len(k.faults) > 0 {
			why += ": " + k.faults[0].Text
		}
	}
	err := core.Errorf(core.Unavailable, "plugin %s is unavailable: %s", k.id, why)
	err.RetryAfter = firstBackoff
	return err
}

// explain turns the error of a call into an outcome and a core error.
func (k *keeper) explain(ctx context.Context, call string, err error, lost bool) (string, error) {
	var wrong *sdk.Fault
	code := status.Code(err)
	if errors.As(err, &wrong) || code == codes.ResourceExhausted {
		fault := fmt.Errorf("%s: invalid response: %s", call, plain(err))
		k.note(fault, false)
		return calledWrong, core.Errorf(core.Internal, "plugin %s: %v", k.id, fault)
	}
	switch {
	case sdk.IsRefusal(err):
		return calledRefused, core.Errorf(core.Invalid, "plugin %s: %s", k.id, plain(err))
	case sdk.IsAbsent(err):
		return calledAbsent, core.Errorf(core.NotFound, "plugin %s: %s", k.id, plain(err))
	case errors.Is(context.Cause(ctx), context.Canceled):
		return calledCanceled, ctx.Err()
	case code == codes.DeadlineExceeded || ctx.Err() != nil:
		fault := fmt.Errorf("%s: no response in time", call)
		k.note(fault, false)
		return calledLate, late{core.Errorf(core.Unavailable, "plugin %s: %v", k.id, fault)}
	case lost:
		return calledDown, fatal{core.Errorf(core.Unavailable, "plugin %s exited twice during a call (%s)", k.id,
			call)}
	default:
		fault := fmt.Errorf("%s: failed: %s", call, plain(err))
		k.note(fault, false)
		return calledFailed, core.Errorf(core.Internal, "plugin %s: %v", k.id, fault)
	}
}
