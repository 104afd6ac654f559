package webhook

import (
	"cmp"
	"net/http"
	"time"
)

// Probing sets when the circuit of an endpoint opens and how the endpoint is probed then. Zero values take the
// defaults.
type Probing struct {
	After   int           // consecutive failures that open the circuit: 20
	For     time.Duration // and the least time since the first of them: 60 s
	First   time.Duration // 1 s until the first probe; doubles from probe to probe
	Longest time.Duration // 30 s; the longest interval
}

func (p Probing) withDefaults() Probing {
	p.After = cmp.Or(p.After, 20)
	p.For = cmp.Or(p.For, time.Minute)
	p.First = cmp.Or(p.First, time.Second)
	p.Longest = cmp.Or(p.Longest, 30*time.Second)
	return p
}

// Health is the health of an endpoint over all its deliveries. It is zero while the circuit is closed.
type Health struct {
	Failures     int       // consecutive failures
	Since        time.Time // when the first of them started
	Status       int       // of the last attempt; 0 without a response
	Error        string    // of the last attempt, in plain words
	ProbingSince time.Time // when the circuit opened; zero: it is closed
	NextProbe    time.Time
	Pause        time.Duration // before the next probe
}

// Probed reports whether the circuit is open: the endpoint gets single probes while its deliveries wait.
func (h Health) Probed() bool { return !h.ProbingSince.IsZero() }

// Answered reports whether the endpoint sent a complete response other than 429 (too many requests).
func (a Attempt) Answered() bool {
	switch a.ErrorClass {
	case Timeout, Broken, Protocol: // even after a status, if the response did not end
		return false
	}
	return a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// FoundUnwell reports whether the attempt counts against the endpoint's health: no complete response, 5xx or 429. Any
// other response counts as healthy, even a rejection.
func (a Attempt) FoundUnwell() bool { return !a.Answered() || a.Status >= 500 }

// After returns the health after one more attempt, recorded at the given time. Only a probe reschedules the next
// probe. Attempts that started before the circuit opened are no news unless they succeed.
func (h Health) After(r Result, at time.Time, rules Probing) Health {
	if !r.Attempt.FoundUnwell() {
		return Health{}
	}
	h.Failures++
	if h.Failures == 1 || r.Attempt.StartedAt.Before(h.Since) {
		h.Since = r.Attempt.StartedAt
	}
	h.Status, h.Error = r.Attempt.Status, r.Attempt.Error
	switch {
	case !h.Probed() && h.Failures >= rules.After && at.Sub(h.Since) >= rules.For:
		h.ProbingSince, h.Pause = at, rules.First
		h.NextProbe = at.Add(h.Pause)
	case h.Probed() && r.Delivery.Probe:
		h.Pause = min(2*h.Pause, rules.Longest)
		h.NextProbe = at.Add(h.Pause)
	}
	return h
}
