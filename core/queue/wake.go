package queue

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// wakeSignal wakes one waiting goroutine. Signals sent before it waits count as one.
type wakeSignal chan struct{}

// newWakeSignal returns a wakeSignal.
func newWakeSignal() wakeSignal { return make(wakeSignal, 1) }

// Wake sends the signal. It never blocks.
func (s wakeSignal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Wait returns on a signal, at the given time, or when the context ends.
func (s wakeSignal) Wait(ctx context.Context, clock core.Clock, until time.Time) {
	timer, stop := clock.At(until)
	defer stop()
	select {
	case <-ctx.Done():
	case <-s:
	case <-timer:
	}
}
