package pluginhost

import (
	"context"
	"math"
	"time"
)

// dueKey is the key of the time limit in a context of withTimeout.
type dueKey struct{}

// withTimeout bounds a context by the host's clock.
func withTimeout(ctx context.Context, clock interface {
	Now() time.Time
	At(time.Time) (<-chan time.Time, func())
}, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := clock.Now().Add(within)
	due, stopTimer := clock.At(limit)
	go func() {
		defer stopTimer()
		select {
		case <-due:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return context.WithValue(ctx, dueKey{}, limit), func() { cancel(nil) }
}

// timeLeft returns the time until the deadline of a call. It is the longest duration if there is none.
func (k *supervisor) timeLeft(ctx context.Context) time.Duration {
	left := time.Duration(math.MaxInt64)
	if due, ok := ctx.Value(dueKey{}).(time.Time); ok {
		left = due.Sub(k.host.config.Clock.Now())
	}
	if due, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(due))
	}
	return left
}
