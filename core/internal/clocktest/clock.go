// Package clocktest has a clock that tests move.
package clocktest

import (
	"sync"
	"time"
)

// Clock stands still until it is moved.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

// New makes a clock that shows the present day at noon, UTC.
func New() *Clock {
	return &Clock{now: time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour),
		timers: map[chan time.Time]time.Time{}}
}

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// At waits until the clock has been moved to t.
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

// Advance moves the clock and fires the timers whose time has come.
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
