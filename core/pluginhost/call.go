package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	outcomeSetAside = "set_aside"
)

// invoke makes a call to a plugin, within the plugin's concurrency limit. Calls have no side effects, so a call
// that is lost with its process is retried once with the next process, alone. If that ends too, the request is set
// aside. The errors are those of core, with a message that callers outside of the hub may read:
//
//	Invalid      the plugin rejected the request; the message says why
//	NotFound     it does not have the capability
//	Unavailable  it is not installed here, not running, or timed out, or the request is set aside
//	Internal     it failed, or its result was invalid
func invoke[A any](ctx context.Context, p Plugin, r request,
	do func(context.Context, *instance) (A, error)) (result A, err error) {
	clock, outcome := p.host.config.Clock, outcomeOK
	start := clock.Now()
	ctx, span := p.host.config.Tracer.Start(ctx, core.ClientSpan, p.id, r.call)
	defer func() {
		p.host.config.Observer.PluginCalled(p.id, r.call, outcome, clock.Now().Sub(start))
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
	if result, outcome, err = invokeSupervised(ctx, k, r, do); err == nil {
		err = p.keep(ctx, r, result)
	}
	return result, err
}

// keep stores the values that a result keeps.
func (p Plugin) keep(ctx context.Context, r request, result any) error {
	list, ok := result.(interface{ GetKeep() []*sdk.KeptValue })
	if !ok || p.host.config.Keep == nil || len(list.GetKeep()) == 0 {
		return nil
	}
	if err := p.host.config.Keep(ctx, p.id, r.subject, list.GetKeep()); err != nil {
		return &core.Error{Code: core.Unavailable, Message: "the values of plugin " + p.id + " could not be stored",
			Cause: err, RetryAfter: minBackoff}
	}
	return nil
}

// invokeSupervised makes a call to a supervised plugin. It also returns the outcome.
func invokeSupervised[A any](ctx context.Context, k *supervisor, r request,
	do func(context.Context, *instance) (A, error)) (result A, outcome string, err error) {
	var none A
	var lost *instance
	for {
		i, release, err := k.acquire(ctx, lost, k.mustRunAlone(r))
		if err != nil {
			return none, outcomeDown, err
		}
		if k.isSetAside(ctx, i, r) {
			release()
			return none, outcomeSetAside, k.setAsideError(nil)
		}
		result, reply, err := attempt(ctx, i, do)
		var loss *lostCall
		alone := false
		if reply.disconnected && ctx.Err() == nil {
			loss, alone = i.recordLoss(r, k.host.config.Clock.Now())
		}
		release()
		if loss != nil && k.blame(ctx, i, *loss, alone) {
			return none, outcomeSetAside, k.setAsideError(errors.New(i.endReason()))
		}
		switch {
		case err == nil:
			i.resetTimeouts()
			k.clearSuspect(i, r)
			return result, outcomeOK, nil
		case lost == nil && ctx.Err() == nil && reply.disconnected:
			lost = i
		default:
			outcome, err = k.mapError(ctx, r, reply, err)
			k.recordEnd(i, r, outcome, reply.replied)
			i.countTimeout(outcome, callRecord{r.call, r.subject.Business, r.subject.Platform, r.subject.Key})
			return none, outcome, err
		}
	}
}

// reply is what is known of the plugin's reply to a call.
type reply struct {
	replied      bool   // the plugin itself ended the call
	disconnected bool   // the call was lost with the connection
	stack        string // of a panic; "": unknown
}

// attempt makes a call to an instance and checks the result.
func attempt[A any](ctx context.Context, i *instance,
	do func(context.Context, *instance) (A, error)) (result A, r reply, err error) {
	var tracker replyTracker
	result, err = do(context.WithValue(ctx, trackerKey{}, &tracker), i)
	if message, ok := any(result).(proto.Message); ok && err == nil {
		if err = checkResult(i, message); err == nil {
			truncateTexts(message)
		}
	}
	stack := tracker.stack.Load()
	if stack != nil {
		r.stack = *stack
	}
	r.replied = tracker.replied.Load()
	r.disconnected = err != nil && !r.replied && isConnectionLost(err)
	return result, r, err
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
		err = withCode(core.Internal, err)
	}
	return result, err
}

// withCode returns an error with another code and the same message and cause. A setAsideError stays one.
func withCode(code core.Code, err error) error {
	var known *core.Error
	if !errors.As(err, &known) {
		return err
	}
	changed := &core.Error{Code: code, Message: known.Message, Cause: known.Cause}
	if errors.As(err, new(setAsideError)) {
		return setAsideError{changed}
	}
	return changed
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
// from the connection.
type replyTracker struct {
	replied atomic.Bool
	stack   atomic.Pointer[string] // of a panic
}

// trackerKey is the key of a call's replyTracker in its context.
type trackerKey struct{}

// maxStackTrailer bounds the part of a stack that is read, in bytes. The SDK sends 3 kB.
const maxStackTrailer = 16 << 10

// replyHandler updates the replyTracker of each call (stats.Handler).
type replyHandler struct{}

// HandleRPC updates the tracker in the call's context.
func (replyHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	end, ended := event.(*stats.InTrailer)
	tracker, ok := ctx.Value(trackerKey{}).(*replyTracker)
	if !ended || !ok {
		return
	}
	if stack := end.Trailer.Get(sdk.StackTrailer); len(stack) > 0 {
		frames := stackIn(strings.Split(stack[0][:min(len(stack[0]), maxStackTrailer)], "\n"))
		tracker.stack.Store(&frames)
	}
	tracker.replied.Store(true)
}

// TagRPC does nothing.
func (replyHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn does nothing.
func (replyHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (replyHandler) HandleConn(context.Context, stats.ConnStats) {}

// acquire returns the serving instance of a plugin, within its concurrency limit. If the plugin is starting, or has
// just lost the caller's instance, acquire waits for up to StartWait. A call that must run alone waits for the others.
// A call that has waited for most of its time fails, because its timeout would count as the plugin's.
func (k *supervisor) acquire(ctx context.Context, lost *instance, alone bool) (*instance, func(), error) {
	var due <-chan time.Time
	enough := k.timeLeft(ctx) / 4
	for {
		k.mu.Lock()
		i, slots, changed, state := k.current, k.slots, k.changed, k.state
		k.mu.Unlock()
		if i != nil && i != lost {
			free, ok := k.takeSlots(ctx, slots, alone)
			if !ok {
				return nil, nil, k.unavailable(state, "its concurrency limit is reached")
			}
			if k.timeLeft(ctx) < enough {
				free()
				return nil, nil, k.unavailable(state, "the call waited for it for too long")
			}
			if i.beginCall() {
				return i, func() { i.endCall(); free() }, nil
			}
			free() // it was replaced in the meantime
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

// takeSlots takes a slot for a call, or every slot for a call that must run alone. It fails if the context ends first.
func (k *supervisor) takeSlots(ctx context.Context, slots chan struct{}, alone bool) (free func(), ok bool) {
	wanted, taken := 1, 0
	free = func() {
		for range taken {
			<-slots
		}
		if alone {
			<-k.exclusive
		}
	}
	if alone { // one at a time, since two would wait for each other's slots
		wanted = cap(slots)
		select {
		case k.exclusive <- struct{}{}:
		case <-ctx.Done():
			return nil, false
		}
	}
	for ; taken < wanted; taken++ {
		select {
		case slots <- struct{}{}:
			if ctx.Err() == nil {
				continue
			}
			taken++ // both were ready
		case <-ctx.Done():
		}
		free()
		return nil, false
	}
	return free, true
}

// unavailable returns the error of a plugin that cannot be called now.
func (k *supervisor) unavailable(state State, why string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	public := why
	if why == "" {
		public = state.reason()
		why = public
		if len(k.faults) > 0 {
			why = k.faults[0].Text
		}
	}
	err := publicError(core.Unavailable, "plugin_unavailable", "plugin "+k.id+" is unavailable: "+public, nil)
	if why != public {
		err.Cause = errors.New(why)
	}
	err.RetryAfter = minBackoff
	return err
}

// mapError turns the error of a call into an outcome and a core error. It records the fault, if it is one.
func (k *supervisor) mapError(ctx context.Context, r request, reply reply, err error) (string, error) {
	var wrong *sdk.Fault
	code, plugin := status.Code(err), "plugin "+k.id
	if errors.As(err, &wrong) || code == codes.ResourceExhausted {
		fault := callFault(FaultInvalid, r, "invalid response: %s", errorMessage(err))
		k.recordFault(fault)
		return outcomeWrong, publicError(core.Internal, "plugin_invalid_result",
			plugin+" returned an invalid result", fault)
	}
	switch {
	case sdk.IsRefusal(err):
		return outcomeRefused, rejection(k.id, errorMessage(err))
	case sdk.IsAbsent(err):
		return outcomeAbsent, publicError(core.NotFound, "plugin_unsupported", plugin+" does not support this request",
			errors.New(sdk.MaskPersonal(errorMessage(err))))
	case errors.Is(context.Cause(ctx), context.Canceled):
		return outcomeCanceled, ctx.Err()
	case code == codes.DeadlineExceeded || ctx.Err() != nil:
		fault := callFault(FaultDeadline, r, "no response in time")
		k.recordFault(fault)
		return outcomeLate, timeoutError{publicError(core.Unavailable, "plugin_timeout",
			plugin+" did not respond in time",
			fault)}
	case reply.disconnected:
		return outcomeDown, crashError{publicError(core.Unavailable, "plugin_crashed",
			plugin+" crashed on this request",
			fmt.Errorf("it exited twice during a call (%s)", r.call))}
	default:
		kind := FaultError
		if reply.stack != "" || strings.HasPrefix(errorMessage(err), sdk.PanicPrefix) {
			kind = FaultPanic
		}
		fault := callFault(kind, r, "failed: %s", errorMessage(err))
		fault.stack = reply.stack
		k.recordFault(fault)
		return outcomeFailed, publicError(core.Internal, "plugin_failed", plugin+" failed at this request", fault)
	}
}
