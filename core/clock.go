package core

import "time"

// Clock tells the time and wakes at a time. The hub's clock follows the
// database's, so that replicas agree; a test's stands still until it is moved.
type Clock interface {
	// Now is the present instant. It can be earlier than one told before, where the
	// database's clock was set back.
	Now() time.Time
	// At returns a channel that receives once when the instant has come, and a
	// function that gives the timer up.
	At(t time.Time) (<-chan time.Time, func())
}

// SystemClock is the machine's clock, read once and then counted monotonically,
// so that it does not follow when the machine's time is set. Offset is added to
// every reading: it alone makes the clock leap, or step back.
type SystemClock struct {
	base   time.Time
	offset func() time.Duration
}

// NewSystemClock makes a clock. offset may be nil.
func NewSystemClock(offset func() time.Duration) *SystemClock {
	if offset == nil {
		offset = func() time.Duration { return 0 }
	}
	return &SystemClock{base: time.Now(), offset: offset}
}

// Now is the present instant in UTC.
func (c *SystemClock) Now() time.Time {
	// Round drops the monotonic part after it has done its work: two clocks'
	// readings are compared as wall time.
	return c.base.Round(0).Add(time.Since(c.base) + c.offset()).UTC()
}

// At waits by a timer of the runtime.
func (c *SystemClock) At(t time.Time) (<-chan time.Time, func()) {
	timer := time.NewTimer(t.Sub(c.Now()))
	return timer.C, func() { timer.Stop() }
}
