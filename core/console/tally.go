package console

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Attempt is the part of a delivery attempt that is counted.
type Attempt struct {
	Business core.BusinessID
	Webhook  int64 // 0: a callback_url
	Delivery core.ID
	At       time.Time
	Took     time.Duration
	Class    string // webhook.ErrorClass; "": success
	Status   int
	Error    string
}

// Span identifies a counter.
type Span struct {
	Business core.BusinessID
	Grain    time.Duration // a minute or an hour
	At       time.Time
	Webhook  int64 // 0: the whole business
}

// Place identifies a webhook.
type Place struct {
	Business core.BusinessID
	Webhook  int64
}

// Sums are the counts that have not been stored yet.
type Sums struct {
	Counts map[Span]Count
	Health map[Place]Change
}

// Change is the effect of the counted attempts on a webhook's health.
type Change struct {
	Health
}

// maxSpans bounds the counters that are not stored yet. Further attempts are not counted.
const maxSpans = 100_000

// Tally counts attempts in memory until they are stored. It is safe for concurrent use. A crash loses the counts
// since the last Take, but never an attempt itself.
type Tally struct {
	mu   sync.Mutex
	sums Sums
}

// Count counts an attempt.
func (t *Tally) Count(a Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums.Counts == nil {
		t.sums = Sums{Counts: map[Span]Count{}, Health: map[Place]Change{}}
	}
	if len(t.sums.Counts) >= maxSpans {
		return
	}
	one := Count{Accepted: 1, Took: a.Took, Slowest: a.Took}
	if a.Class != "" {
		one.Accepted, one.Refused = 0, 1
	}
	webhooks := []int64{0, a.Webhook}
	if a.Webhook == 0 {
		webhooks = webhooks[:1]
	}
	for _, webhook := range webhooks {
		for _, grain := range []time.Duration{time.Minute, time.Hour} {
			span := Span{a.Business, grain, a.At.UTC().Truncate(grain), webhook}
			count := t.sums.Counts[span]
			count.Add(one)
			t.sums.Counts[span] = count
		}
	}
	if a.Webhook != 0 {
		place := Place{a.Business, a.Webhook}
		t.sums.Health[place] = t.sums.Health[place].after(a)
	}
}

// after returns the change after one more attempt, which need not be the latest.
func (c Change) after(a Attempt) Change {
	if a.Class == "" {
		if a.At.After(c.AcceptedAt) {
			c.AcceptedAt = a.At
		}
		if !c.FailingSince.After(a.At) {
			c.FailingSince = time.Time{}
		}
		return c
	}
	if !a.At.Before(c.RefusedAt) {
		c.RefusedAt, c.Status, c.Class, c.Error, c.Delivery = a.At, a.Status, a.Class, a.Error, a.Delivery
	}
	if a.At.After(c.AcceptedAt) && (c.FailingSince.IsZero() || a.At.Before(c.FailingSince)) {
		c.FailingSince = a.At
	}
	return c
}

// Take returns the counts and resets them.
func (t *Tally) Take() Sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := t.sums
	t.sums = Sums{}
	return sums
}
