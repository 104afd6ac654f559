package queue

import (
	"slices"
	"time"
)

// keyQueue holds the items of one key in this replica: those that run, and those that wait for the concurrency limit.
// Items of a hanging receiver therefore delay no other key.
type keyQueue[T any] struct {
	limit       concurrencyLimiter
	maxWaiting  int // most items that may wait; 0: no separate bound
	running     int
	reserved    int // by Reserve, not started yet
	waiting     []leased[T]
	pausedFrom  time.Time // before it, the clock was set back: nothing is paused
	pausedUntil time.Time
	skipped     bool // by the last claim, because the key was busy
	blockedIn   int  // the number of the claim during which the key was last blocked

	responses         int           // responses since secondStart
	previousResponses int           // responses in the second before secondStart
	secondStart       time.Time     // moved every second
	lastRunTime       time.Duration // duration of the last run that sent a request; 0: none
	lastProgress      time.Time     // when a run last ended, or began while no other was running
}

// slowAfter is how long a receiver may take without a result before its key holds no more than its limit.
const slowAfter = 2 * time.Second

// waitPerLimit bounds the items that wait per unit of the concurrency limit, for a receiver that responds fast but
// has not run many items yet.
const waitPerLimit = 16

// idleTime is how long the history of a key without items is kept.
const idleTime = time.Minute

func (s *keyQueue[T]) held() int { return s.running + s.reserved + len(s.waiting) }

// allowed returns how many items the queue may hold: the concurrency limit and those that wait. The number that may
// wait is the number of recent responses, or the number per second at the pace of the last run. A fast receiver gets
// many and a hanging one gets none.
func (s *keyQueue[T]) allowed(now time.Time) int {
	if s.lastRunTime == 0 || s.running > 0 && now.Sub(s.lastProgress) > slowAfter {
		return s.limit.current
	}
	wait := s.limit.current * min(int(time.Second/s.lastRunTime), waitPerLimit)
	if now.Sub(s.secondStart) <= slowAfter {
		wait = max(wait, s.responses, s.previousResponses)
	}
	return s.limit.current + min(wait, s.maxWaiting)
}

// pause pauses the key until a time.
func (s *keyQueue[T]) pause(now, until time.Time) {
	if until.After(s.pausedUntil) || !s.paused(now) {
		s.pausedFrom, s.pausedUntil = now.Add(-time.Minute), until
	}
}

func (s *keyQueue[T]) paused(now time.Time) bool {
	return now.After(s.pausedFrom) && now.Before(s.pausedUntil)
}

// free returns how many more items to claim. It returns 0 below half of what may wait, or a batch, because small
// claims are not worth their cost.
func (s *keyQueue[T]) free(now time.Time, batch int) int {
	if s.paused(now) {
		return 0
	}
	allowed := s.allowed(now)
	free := allowed - s.held()
	if free < max(1, min((allowed-s.limit.current)/2, batch)) {
		return 0
	}
	return free
}

// runStarted records the start of a run.
func (s *keyQueue[T]) runStarted(now time.Time) {
	if s.running == 0 {
		s.lastProgress = now
	}
	s.running++
}

// runEnded records the end of a run and how long it took.
func (s *keyQueue[T]) runEnded(now time.Time, took time.Duration, response Response) {
	s.running--
	if response == NoRequest {
		return
	}
	if age := now.Sub(s.secondStart); age > time.Second {
		s.previousResponses = s.responses
		if age > slowAfter {
			s.previousResponses = 0
		}
		s.responses, s.secondStart = 0, now
	}
	s.limit.record(response == Responded)
	s.lastRunTime, s.lastProgress = max(took, time.Millisecond), now
	if response == Responded {
		s.responses++
	}
}

// keyQueue returns the queue of a key and creates it if necessary. The caller holds mu.
func (e *Engine[T, R]) keyQueue(key int64) *keyQueue[T] {
	s := e.keyQueues[key]
	if s == nil {
		s = &keyQueue[T]{limit: concurrencyLimiter{current: e.config.FirstLimit, max: e.config.KeyLimit},
			maxWaiting: e.config.MaxWaiting, secondStart: e.clock.Now()}
		e.keyQueues[key] = s
	}
	return s
}

// hold notes that an item is held. The caller holds mu.
func (e *Engine[T, R]) hold(lease Lease) {
	e.held++
	e.ids[lease.ID] = struct{}{}
	if lease.Group != "" {
		e.groups[lease.Group]++
	}
}

// drop notes that an item is no longer held. The caller holds mu.
func (e *Engine[T, R]) drop(lease Lease) {
	e.held--
	delete(e.ids, lease.ID)
	if lease.Group == "" {
		return
	}
	if e.groups[lease.Group]--; e.groups[lease.Group] == 0 {
		delete(e.groups, lease.Group)
	}
}

// capacity returns the capacity for the next claim, and when the next pause of a key ends (zero: none is paused). It
// forgets keys that have been idle for a while.
func (e *Engine[T, R]) capacity() (c Capacity, resumed time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claims++
	now := e.clock.Now()
	c.PerKey, c.OtherKeys, c.Ahead = map[int64]int{}, e.config.ClaimPerKey, e.config.Ahead
	for key, s := range e.keyQueues {
		paused := s.paused(now)
		if s.held() == 0 && !paused && now.Sub(s.secondStart) > idleTime {
			delete(e.keyQueues, key)
			continue
		}
		if paused && (resumed.IsZero() || s.pausedUntil.Before(resumed)) {
			resumed = s.pausedUntil
		}
		free := s.free(now, e.config.Batch)
		if s.skipped = free == 0; s.skipped {
			c.Busy = append(c.Busy, key)
		} else {
			c.PerKey[key] = free
		}
	}
	slices.Sort(c.Busy)
	for group, held := range e.groups {
		if held >= e.config.GroupCapacity {
			c.BusyGroups = append(c.BusyGroups, group)
		}
	}
	c.Items = min(e.config.Capacity-e.held, e.config.Batch)
	if c.Items < e.config.Batch/8 && c.Items < e.config.Capacity/8 {
		c.Items = 0 // small claims cost as much as large ones: wait for more capacity
	}
	if e.paused {
		c.Items = 0
	}
	e.claiming = c.Items > 0
	e.limited = c.Items < e.config.Batch || len(c.Busy)+len(c.BusyGroups) > 0
	return c, resumed
}
