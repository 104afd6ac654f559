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

// CounterKey identifies a counter.
type CounterKey struct {
	Business core.BusinessID
	Grain    time.Duration // a minute or an hour
	At       time.Time
	Webhook  int64 // 0: the whole business
}

// WebhookKey identifies a webhook.
type WebhookKey struct {
	Business core.BusinessID
	Webhook  int64
}

// Sums are the counts that have not been stored yet.
type Sums struct {
	Counts map[CounterKey]Count
	Health map[WebhookKey]HealthChange
}

// HealthChange is the effect of the counted attempts on a webhook's health.
type HealthChange struct {
	Health
}

// maxCounters bounds the counters that are not stored yet. Attempts beyond it are not counted.
const maxCounters = 100_000

// AttemptCounter counts attempts in memory until they are stored. It is safe for concurrent use. A crash loses only the
// counts that were not stored.
type AttemptCounter struct {
	mu   sync.Mutex
	sums Sums
}

// Count counts an attempt.
func (t *AttemptCounter) Count(a Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums.Counts == nil {
		t.sums = Sums{Counts: map[CounterKey]Count{}, Health: map[WebhookKey]HealthChange{}}
	}
	if len(t.sums.Counts) >= maxCounters {
		return
	}
	attempt := Count{Succeeded: 1, TotalTime: a.Took, Slowest: a.Took}
	if a.Class != "" {
		attempt.Succeeded, attempt.Failed = 0, 1
	}
	webhooks := []int64{0, a.Webhook}
	if a.Webhook == 0 {
		webhooks = webhooks[:1]
	}
	for _, webhook := range webhooks {
		for _, grain := range []time.Duration{time.Minute, time.Hour} {
			span := CounterKey{a.Business, grain, a.At.UTC().Truncate(grain), webhook}
			count := t.sums.Counts[span]
			count.Add(attempt)
			t.sums.Counts[span] = count
		}
	}
	if a.Webhook != 0 {
		key := WebhookKey{a.Business, a.Webhook}
		t.sums.Health[key] = t.sums.Health[key].apply(a)
	}
}

// apply returns the change after one more attempt, which need not be the latest.
func (c HealthChange) apply(a Attempt) HealthChange {
	if a.Class == "" {
		if a.At.After(c.SucceededAt) {
			c.SucceededAt = a.At
		}
		if c.FailingSince.After(c.SucceededAt) {
			return c
		}
		if c.FailingSince = (time.Time{}); c.FailedAt.After(c.SucceededAt) { // an earlier one, which ended later
			c.FailingSince = c.FailedAt
		}
		return c
	}
	if !a.At.Before(c.FailedAt) {
		c.FailedAt, c.Status, c.Class, c.Error, c.Delivery = a.At, a.Status, a.Class, a.Error, a.Delivery
	}
	if a.At.After(c.SucceededAt) && (c.FailingSince.IsZero() || a.At.Before(c.FailingSince)) {
		c.FailingSince = a.At
	}
	return c
}

// Take returns the counts and resets them.
func (t *AttemptCounter) Take() Sums {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := t.sums
	t.sums = Sums{}
	return sums
}

// Restore adds counts that could not be stored, for the next Take.
func (t *AttemptCounter) Restore(sums Sums) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums.Counts == nil {
		t.sums = sums
		return
	}
	for span, count := range sums.Counts {
		known, found := t.sums.Counts[span]
		if found || len(t.sums.Counts) < maxCounters {
			known.Add(count)
			t.sums.Counts[span] = known
		}
	}
	for webhook, change := range sums.Health {
		t.sums.Health[webhook] = change.merge(t.sums.Health[webhook])
	}
}

// merge returns the effect of the attempts of both changes.
func (c HealthChange) merge(other HealthChange) HealthChange {
	if !other.SucceededAt.IsZero() {
		c = c.apply(Attempt{At: other.SucceededAt})
	}
	if other.FailedAt.IsZero() {
		return c
	}
	failure := Attempt{At: other.FailedAt, Delivery: other.Delivery, Class: other.Class, Status: other.Status,
		Error: other.Error}
	if first := failure; !other.FailingSince.IsZero() {
		first.At = other.FailingSince
		c = c.apply(first)
	}
	return c.apply(failure)
}
