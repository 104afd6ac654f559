package webhook

import (
	"context"
	"slices"
	"time"
)

// What a replica holds and is not to start any more goes back into the queue: it is
// noted here at once, and the loop that claims hands it over before it claims again.

// giveBack leaves a delivery that has not begun to whoever claims it. The caller holds mu.
func (e *Engine) giveBack(d Delivery) {
	e.bodies.letGo(d)
	d.Body = nil
	e.back = append(e.back, d)
	e.Wake()
}

// giveBackOf gives back those that wait in a lane. The caller holds mu.
func (e *Engine) giveBackOf(l *lane, those func(Delivery) bool) {
	l.waiting = slices.DeleteFunc(l.waiting, func(d Delivery) bool {
		back := those(d)
		if back {
			e.giveBack(d)
		}
		return back
	})
}

// given takes what is to be given back; it counts as held no longer.
func (e *Engine) given() []Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	back := e.back
	e.back = nil
	e.held -= len(back)
	return back
}

// Recall tells that a webhook was changed: what has not begun and was read before it
// had this version is given back, and goes where the webhook now says, or waits.
func (e *Engine) Recall(webhook, version int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lane(webhook)
	l.version = max(l.version, version)
	e.giveBackOf(l, func(d Delivery) bool { return d.Version < l.version })
}

// drain stops new starts and gives back what has not been started.
func (e *Engine) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopping = true
	for _, l := range e.lanes {
		e.giveBackOf(l, func(Delivery) bool { return true })
	}
}

// release hands deliveries over to whoever claims them.
func (e *Engine) release(deliveries []Delivery) {
	if len(deliveries) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.queue.Release(ctx, e.owner, deliveries); err != nil {
		e.log.Warn("leases could not be given back; they will run out", "deliveries", len(deliveries), "error", err)
	}
}
