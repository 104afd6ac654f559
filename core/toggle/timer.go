package toggle

import (
	"context"
	"log/slog"
	"time"

	"github.com/servery-hub/servery/core"
)

// TimerStorage stores when to enable stores, items and options again. Replicas share it.
type TimerStorage interface {
	// EnableDue enables what is due, and ends due workloads, at most limit for each business. Each is enabled once, in
	// its own transaction, even if replicas run at the same time. A failed one is retried by the next call and does not
	// delay others. EnableDue returns the number enabled. If that is 0, it also returns the next due time, or the zero
	// time if none is pending. With an error, that is the next due time of the businesses without a failure.
	EnableDue(ctx context.Context, limit int) (enabled int, next time.Time, err error)
}

// Timer enables what is due. Run starts no goroutine.
type Timer struct {
	Storage TimerStorage
	Clock   core.Clock
	Woken   <-chan struct{} // receives when a timer may have been set; nil: never
	Log     *slog.Logger
}

const (
	batchSize    = 500
	pollInterval = 30 * time.Second       // for timers whose signal was lost
	minPause     = 100 * time.Millisecond // the least pause, which leaves other replicas time to finish
)

// Run enables what is due until the context ends.
func (t Timer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		enabled, next, err := t.Storage.EnableDue(ctx, batchSize)
		if err != nil && ctx.Err() == nil {
			t.Log.Error("timed availability changes failed", "error", err)
		}
		if enabled > 0 {
			continue // an error may be one business's alone
		}
		now := t.Clock.Now()
		wake := now.Add(pollInterval)
		if !next.IsZero() && next.Before(wake) {
			wake = next
		}
		if earliest := now.Add(minPause); wake.Before(earliest) {
			wake = earliest
		}
		t.sleep(ctx, wake)
	}
}

// sleep returns at the given time, on a signal, or when the context ends.
func (t Timer) sleep(ctx context.Context, until time.Time) {
	timer, stop := t.Clock.At(until)
	defer stop()
	select {
	case <-ctx.Done():
	case <-t.Woken:
	case <-timer:
	}
}
