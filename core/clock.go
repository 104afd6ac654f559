package core

import (
	"context"
	"time"
)

// Clock reports the time and provides timers. The hub's clock follows the database's, so that replicas agree. A test
// clock stands still until the test advances it.
type Clock interface {
	// Now returns the current time. It can be earlier than a previous reading if the database's clock was set back.
	Now() time.Time
	// At returns a channel that receives once at time t, and a function that stops the timer.
	At(t time.Time) (<-chan time.Time, func())
}

// SystemClock reads the machine's clock once and then counts monotonically, so it ignores later changes to the
// machine's time. The offset is added to every reading: only a change of the offset makes the clock jump.
type SystemClock struct {
	base   time.Time
	offset func() time.Duration
}

// NewSystemClock returns a SystemClock. The offset may be nil.
func NewSystemClock(offset func() time.Duration) *SystemClock {
	if offset == nil {
		offset = func() time.Duration { return 0 }
	}
	return &SystemClock{base: time.Now(), offset: offset}
}

// Now returns the current time in UTC.
func (c *SystemClock) Now() time.Time {
	// Round drops the monotonic reading, so that the times of two clocks compare as wall time.
	return c.base.Round(0).Add(time.Since(c.base) + c.offset()).UTC()
}

// At returns a channel that receives at time t, using a runtime timer.
func (c *SystemClock) At(t time.Time) (<-chan time.Time, func()) {
	timer := time.NewTimer(t.Sub(c.Now()))
	return timer.C, func() { timer.Stop() }
}

// SleepUntil returns at the given time, or when the context ends.
func SleepUntil(ctx context.Context, clock Clock, until time.Time) {
	timer, stop := clock.At(until)
	defer stop()
	select {
	case <-ctx.Done():
	case <-timer:
	}
}
