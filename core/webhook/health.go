package webhook

import (
	"cmp"
	"net/http"
	"time"
)

// Probing says when an endpoint counts as failing and how it is probed then.
// Zero values take the defaults.
type Probing struct {
	After   int           // attempts in a row that find it unwell: 20
	For     time.Duration // and that the first of them is ago: 60 s
	First   time.Duration // 1 s from the beginning to the first probe; from probe to probe twice as much
	Longest time.Duration // 30 s, at most
}

func (p Probing) withDefaults() Probing {
	p.After = cmp.Or(p.After, 20)
	p.For = cmp.Or(p.For, time.Minute)
	p.First = cmp.Or(p.First, time.Second)
	p.Longest = cmp.Or(p.Longest, 30*time.Second)
	return p
}

// Health is how an endpoint fares, over all its deliveries; zero while it is well.
type Health struct {
	Failures     int       // attempts in a row that found it unwell
	Since        time.Time // when the first of them began
	Status       int       // of the last; 0 when there was no answer
	Error        string    // of the last, in plain words
	ProbingSince time.Time // zero: its deliveries go on as usual
	NextProbe    time.Time
	Pause        time.Duration // before the next probe
}

// Probed tells whether single attempts go to the endpoint while its deliveries wait.
func (h Health) Probed() bool { return !h.ProbingSince.IsZero() }

// Answered tells whether the endpoint gave a complete answer, and not that it is
// asked too often (429).
func (a Attempt) Answered() bool {
	switch a.ErrorClass {
	case Timeout, Broken, Protocol: // also after a status, where the answer did not end
		return false
	}
	return a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// FoundUnwell tells whether the attempt shows that the endpoint itself is in
// trouble: no complete answer, 5xx, 429. Any other answer, also a refusal, is one.
func (a Attempt) FoundUnwell() bool { return !a.Answered() || a.Status >= 500 }

// After is the health after one more attempt, recorded at the given instant.
// Only a probe moves the next probe: attempts that were under way when probing
// began say nothing new, unless they find the endpoint well.
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
