// Package clocktest provides a clock for tests.
package clocktest

import (
	"sync"
	"time"
)

// Clock is a core.Clock that only Advance moves.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

// New returns a clock that shows noon of the current day, UTC.
func New() *Clock {
	return &Clock{now: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour),
		timers: map[chan time.Time]time.Time{}}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// At returns a channel that receives when the clock reaches t, and a function that cancels it.
func (c *Clock) At(t time.Time) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	if !t.After(c.now) {
		ch <- c.now
		return ch, func() {}
	}
	c.timers[ch] = t
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, ch)
	}
}

// Advance moves the clock and fires the timers that are due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for ch, t := range c.timers {
		if !t.After(c.now) {
			ch <- c.now
			delete(c.timers, ch)
		}
	}
}
