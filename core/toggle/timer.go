package toggle

import (
	"context"
	"log/slog"
	"time"

	"github.com/servery-hub/servery/core"
)

// Records keeps what is to be turned on again, and when; replicas share it.
type Records interface {
	// TurnOn turns on what is due, at most so many of each business, each by one
	// transaction once, however many replicas do so at a time. What fails is tried by
	// the next call, and keeps nothing else waiting. It tells how many it turned on, and
	// where those are none when the next is due; the zero time: nothing waits.
	TurnOn(ctx context.Context, limit int) (turned int, next time.Time, err error)
}

// Timer turns on what is due. Run owns no goroutine but its caller's.
type Timer struct {
	Records Records
	Clock   core.Clock
	Log     *slog.Logger
}

const (
	batch   = 500
	atLeast = time.Second            // how often it looks for what others have asked for
	atMost  = 100 * time.Millisecond // how long it leaves to others what they are turning on
)

// Run turns on what is due until the context ends.
func (t Timer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		turned, next, err := t.Records.TurnOn(ctx, batch)
		if err != nil && ctx.Err() == nil {
			t.Log.Error("what is to be turned on again could not be; it is tried again", "error", err)
		}
		if turned > 0 && err == nil {
			continue
		}
		now := t.Clock.Now()
		look := now.Add(atLeast)
		if err == nil && !next.IsZero() && next.Before(look) {
			look = next
		}
		if soon := now.Add(atMost); look.Before(soon) {
			look = soon
		}
		core.Pause(ctx, t.Clock, look)
	}
}
