package queue

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Run processes items until the context ends. It then releases the items that have not started, finishes the running
// ones and records their results, each within StopWithin.
func (e *Engine[T, R]) Run(ctx context.Context) {
	defer e.cancel()
	var recording sync.WaitGroup
	for range e.config.Finishers {
		recording.Go(e.finish)
	}
	for ctx.Err() == nil {
		e.releaseMarked()
		e.claim(ctx)
	}
	e.stop()
	e.releaseMarked()
	drain(&e.running, e.config.StopWithin, func() {
		e.log.Warn("cancelling work at shutdown", "queue", e.config.Name)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.cutOff(errAbandoned)
	})
	e.releaseMarked()
	close(e.results)
	drain(&recording, e.config.StopWithin, func() {
		e.log.Warn("results were not recorded before the shutdown", "queue", e.config.Name)
		e.cancel()
	})
}

// claim claims items within the capacity. If no more are due, it waits for a signal, the due time of the next item, or
// the poll. An error waits for the poll.
func (e *Engine[T, R]) claim(ctx context.Context) {
	next := e.clock.Now().Add(e.config.Poll)
	capacity, resumed := e.capacity()
	if capacity.Items > 0 {
		batch, err := e.policy.Claim(ctx, e.owner, capacity, e.LeaseUntil())
		if err != nil {
			if ctx.Err() == nil {
				e.log.Error("claiming work failed", "queue", e.config.Name, "error", err)
			}
			e.release(batch.Items)
			batch = Batch[T]{}
		}
		e.accept(batch.Items)
		if batch.More {
			return
		}
		if err == nil && len(batch.Items) == 0 && e.unlimited() {
			next = e.clock.Now().Add(e.config.Rest)
		}
		next = earlier(next, e.nextClaim(batch))
		if e.foundLocked(batch, next) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, e.lockedPause) // real time: a lock does not follow the clock
			defer cancel()
			next = e.clock.Now().Add(e.config.Poll)
		}
	}
	e.signal.Wait(ctx, e.clock, earlier(next, resumed))
}

// unlimited reports whether the last claim was not limited by capacity.
func (e *Engine[T, R]) unlimited() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.limited
}

// earlier returns the earlier time. A zero b is none.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// nextClaim returns when to claim what a claim has left: half of Ahead before its due time, so that one claim takes
// several items. If that time has passed, and the claim found nothing, it is the due time.
func (e *Engine[T, R]) nextClaim(last Batch[T]) time.Time {
	ahead := last.NextDue.Add(-e.config.Ahead / 2)
	if last.NextDue.IsZero() || len(last.Items) == 0 && !ahead.After(e.clock.Now()) {
		return last.NextDue
	}
	return ahead
}

// Bounds of the pause after a claim that found only locked items. Others become due meanwhile.
const (
	firstLockedPause = 10 * time.Millisecond
	maxLockedPause   = 100 * time.Millisecond
)

// foundLocked reports whether items are due although a claim found none: another transaction locks them, maybe for
// long. The pauses before the next claims then double.
func (e *Engine[T, R]) foundLocked(last Batch[T], next time.Time) bool {
	if len(last.Items) > 0 || next.After(e.clock.Now()) {
		e.lockedPause = 0
		return false
	}
	e.lockedPause = min(max(2*e.lockedPause, firstLockedPause), e.config.Poll, maxLockedPause)
	return true
}

// accept adds claimed items to the queues of their keys, each when it may start.
func (e *Engine[T, R]) accept(items []T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claiming = false
	now := e.clock.Now()
	for _, item := range items {
		work := leased[T]{item, e.policy.Lease(item)}
		e.hold(work.lease)
		if work.lease.From.After(now) {
			e.running.Add(1)
			go e.addLater(e.runs, work, e.claims)
			continue
		}
		e.add(work, e.claims)
	}
}

// addLater adds an item to the queue of its key when it may start.
func (e *Engine[T, R]) addLater(runs context.Context, work leased[T], claim int) {
	defer e.running.Done()
	timer, stop := e.clock.At(work.lease.From)
	defer stop()
	select {
	case <-timer:
	case <-e.stopped:
	case <-runs.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(work, claim)
}

// add adds a held item to the queue of its key. Keys that were blocked or paused during its claim, or since then, get
// urgent items only. The caller holds mu.
func (e *Engine[T, R]) add(work leased[T], claim int) {
	s := e.keyQueue(work.lease.Key)
	blocked := s.blockedIn >= claim || s.paused(e.clock.Now())
	if e.stopping || e.abandoned || blocked && !work.lease.Urgent {
		e.markForRelease(work)
		return
	}
	s.waiting = append(s.waiting, work)
	e.startWaiting(s)
}

// startWaiting starts waiting items up to the concurrency limit. It releases items that cannot start in time. If a key
// holds far more than it takes, it releases what exceeds the allowance. The caller holds mu.
func (e *Engine[T, R]) startWaiting(s *keyQueue[T]) {
	now := e.clock.Now()
	for !e.stopping && !e.paused && len(s.waiting) > 0 && s.running < s.limit.current {
		work := s.waiting[0]
		s.waiting[0] = leased[T]{} // drop the reference to its content
		s.waiting = s.waiting[1:]
		if until := work.lease.Until; !until.IsZero() && now.Add(e.config.StartMargin).After(until) {
			e.markForRelease(work)
			continue
		}
		s.runStarted(now)
		e.running.Add(1)
		go e.run(e.runs, s, work)
	}
	if allowed := s.allowed(now); s.maxWaiting > 0 && s.held() > 2*allowed {
		keep := allowed - s.running - s.reserved
		e.releaseMatching(s, func(work leased[T]) bool {
			keep--
			return keep < 0 && !work.lease.Urgent
		})
	}
}

// run runs an item, starts the next items of its key and passes on its result. It holds no lock then: if a claim has
// returned more than its capacity, this waits for a recording, which needs the lock.
func (e *Engine[T, R]) run(ctx context.Context, s *keyQueue[T], work leased[T]) {
	defer e.running.Done()
	began := e.clock.Now()
	result, outcome := e.policy.Run(ctx, work.item)
	e.ended(s, work, began, outcome)
	if outcome.Next == Finish {
		e.results <- finished[R]{result, work.lease}
	}
}

// ended updates the key after a run and starts its next items.
func (e *Engine[T, R]) ended(s *keyQueue[T], work leased[T], began time.Time, outcome Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	s.pause(now, outcome.PausedUntil)
	if s.paused(now) {
		e.releaseMatching(s, func(waiting leased[T]) bool { return !waiting.lease.Urgent })
	}
	switch outcome.Next {
	case Release:
		e.markForRelease(work)
	case Done:
		e.drop(work.lease)
		e.Wake()
	}
	s.runEnded(now, now.Sub(began), outcome.Response)
	e.startWaiting(s)
	if s.maxWaiting == 0 && s.skipped && len(s.waiting) == 0 && s.running < s.limit.current {
		e.Wake() // the last claim left items of the key; with items ahead, claims follow recordings and stay large
	}
}

// finish records results in batches, until the channel is closed. Each batch frees its capacity, so it gathers results
// only if no claim waits for that.
func (e *Engine[T, R]) finish() {
	for batch := range batches(e.results, e.config.FinishBatch, e.unlimited) {
		results := make([]R, len(batch))
		for i, f := range batch {
			results[i] = f.result
		}
		effect := e.record(results)
		e.mu.Lock()
		for _, f := range batch {
			e.drop(f.lease)
		}
		for _, key := range effect.Blocked {
			s := e.keyQueue(key)
			s.blockedIn = e.claims
			e.releaseMatching(s, func(work leased[T]) bool { return !work.lease.Urgent })
		}
		wake := e.limited || effect.Due || len(effect.Blocked) > 0
		e.mu.Unlock()
		if wake {
			e.Wake()
		}
	}
}

// record writes results and retries while the database is unavailable. It stops at the end of a
// shutdown, or when the leases have long expired and other replicas have claimed the items.
func (e *Engine[T, R]) record(results []R) (effect FinishResult) {
	retryUntil(e.work, e.clock, e.clock.Now().Add(5*e.config.Lease), e.recordSoon,
		func(ctx context.Context) (err error) {
			if effect, err = e.policy.Finish(ctx, e.owner, results); err != nil {
				e.log.Error("recording results failed", "queue", e.config.Name, "results", len(results), "error", err)
			}
			return err
		})
	return effect
}

// stop prevents further starts and releases every item that has not started.
func (e *Engine[T, R]) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = true
	close(e.stopped)
	for _, s := range e.keyQueues {
		e.releaseMatching(s, func(leased[T]) bool { return true })
	}
}

// releaseMatching marks the matching items of a key that wait for release. The caller holds mu.
func (e *Engine[T, R]) releaseMatching(s *keyQueue[T], match func(leased[T]) bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(work leased[T]) bool {
		matches := match(work)
		if matches {
			e.markForRelease(work)
		}
		return matches
	})
}

// markForRelease marks an item for release. The claim loop releases it before the next claim. The caller holds mu.
func (e *Engine[T, R]) markForRelease(work leased[T]) {
	e.released = append(e.released, work)
	e.Wake()
}

// releaseMarked releases the items that are marked for release.
func (e *Engine[T, R]) releaseMarked() {
	e.release(e.takeReleased())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releasing = false
}

// takeReleased takes the items that are marked for release. They are no longer held.
func (e *Engine[T, R]) takeReleased() []T {
	e.mu.Lock()
	defer e.mu.Unlock()
	items := make([]T, len(e.released))
	for i, work := range e.released {
		items[i] = work.item
		e.drop(work.lease)
	}
	e.released, e.releasing = nil, true
	return items
}

// releaseTime bounds a release. If it fails, the leases expire.
const releaseTime = 5 * time.Second

// release ends the leases of items, so that any replica can claim them.
func (e *Engine[T, R]) release(items []T) {
	if len(items) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := e.policy.Release(ctx, e.owner, items); err != nil {
		e.log.Warn("releasing leases failed", "queue", e.config.Name, "items", len(items), "error", err)
	}
}
