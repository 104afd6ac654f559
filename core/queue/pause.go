package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// errAbandoned is the cause of contexts that Abandon or a stop ended.
var errAbandoned = errors.New("this replica leaves its items to others")

// Abandoned reports whether Abandon or a stop has ended the context of a running item. Without a response, a policy
// releases such an item or counts no attempt: the receiver did nothing wrong, and another replica may own the item.
func Abandoned(ctx context.Context) bool { return context.Cause(ctx) == errAbandoned }

// Control is an engine to those who know whether this replica still owns its leases.
type Control interface {
	// Pause makes the engine claim and start nothing until Resume. Running items continue.
	Pause()
	// Abandon cancels what runs and releases what waits. The engine must be paused.
	Abandon()
	// RecordSoon ends the pause before results that the database did not take are recorded again.
	RecordSoon()
	// Settle waits until a paused engine leases and releases nothing, and after Abandon until it holds nothing. It
	// returns the ids of the items that it holds, or false if the context ends before.
	Settle(ctx context.Context) (held []string, settled bool)
	// Resume ends Pause and Abandon.
	Resume()
	// Wake makes the engine claim soon.
	Wake()
}

// Pause makes the engine claim and start nothing until Resume. Running items continue.
func (e *Engine[T, R]) Pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paused = true
}

// Abandon cancels what runs and releases what waits. The engine must be paused.
func (e *Engine[T, R]) Abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.abandoned = true
	e.cutOff(errAbandoned)
	for _, s := range e.keyQueues {
		e.releaseMatching(s, func(leased[T]) bool { return true })
	}
}

// Resume ends Pause and Abandon.
func (e *Engine[T, R]) Resume() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.abandoned {
		e.runs, e.cutOff = context.WithCancelCause(e.work)
	}
	e.paused, e.abandoned = false, false
	for _, s := range e.keyQueues {
		e.startWaiting(s)
	}
	e.Wake()
}

// RecordSoon ends the pause before results that the database did not take are recorded again.
func (e *Engine[T, R]) RecordSoon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.retryNow)
	e.retryNow = make(chan struct{})
}

// recordSoon returns a channel that RecordSoon closes.
func (e *Engine[T, R]) recordSoon() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.retryNow
}

// settleInterval is how often Settle looks.
const settleInterval = 5 * time.Millisecond

// Settle waits until a paused engine leases and releases nothing, and after Abandon until it holds nothing. It returns
// the ids of the items that it holds, or false if the context ends before.
func (e *Engine[T, R]) Settle(ctx context.Context) (held []string, settled bool) {
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		if held, settled = e.settled(); settled {
			return held, true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-ticker.C:
		}
	}
}

// settled returns what Settle returns, if the engine has settled.
func (e *Engine[T, R]) settled() ([]string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.claiming || e.releasing || len(e.released) > 0 || e.abandoned && e.held > 0 {
		return nil, false
	}
	for _, s := range e.keyQueues {
		if s.reserved > 0 {
			return nil, false
		}
	}
	return slices.Collect(maps.Keys(e.ids)), true
}
