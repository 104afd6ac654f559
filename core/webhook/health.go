package webhook

import (
	"cmp"
	"net/http"
	"time"
)

// CircuitRules sets when the circuit of an endpoint opens and how the endpoint is probed then. Zero values take the
// defaults.
type CircuitRules struct {
	FailureThreshold int           // consecutive failures that open the circuit: 20
	MinDuration      time.Duration // and the least time since the first of them: 60 s
	FirstProbe       time.Duration // 1 s until the first probe; doubles from probe to probe
	MaxProbeInterval time.Duration // 30 s; the longest interval
}

func (p CircuitRules) withDefaults() CircuitRules {
	p.FailureThreshold = cmp.Or(p.FailureThreshold, 20)
	p.MinDuration = cmp.Or(p.MinDuration, time.Minute)
	p.FirstProbe = cmp.Or(p.FirstProbe, time.Second)
	p.MaxProbeInterval = cmp.Or(p.MaxProbeInterval, 30*time.Second)
	return p
}

// Health is the health of an endpoint over all its deliveries. It is zero while the circuit is closed.
type Health struct {
	Failures  int       // consecutive failures
	Since     time.Time // when the first of them started
	Status    int       // of the last attempt; 0 without a response
	Error     string    // of the last attempt, in plain words
	OpenedAt  time.Time // when the circuit opened; zero: it is closed
	NextProbe time.Time
	Pause     time.Duration // before the next probe
}

// CircuitOpen reports whether the circuit is open: the endpoint gets single probes while its deliveries wait.
func (h Health) CircuitOpen() bool { return !h.OpenedAt.IsZero() }

// Responded reports whether the endpoint sent a complete response other than 429 (too many requests).
func (a Attempt) Responded() bool {
	switch a.ErrorClass {
	case Timeout, ConnectionBroken, Protocol: // even after a status, if the response did not end
		return false
	}
	return a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// Unhealthy reports whether the attempt counts against the endpoint's health: no complete response, 5xx or 429. Any
// other response counts as healthy, even a rejection.
func (a Attempt) Unhealthy() bool { return !a.Responded() || a.Status >= 500 }

// After returns the health after one more attempt, recorded at the given time. Only a probe reschedules the next
// probe. Attempts that started before the circuit opened are no news unless they succeed.
func (h Health) After(r Result, at time.Time, rules CircuitRules) Health {
	if !r.Attempt.Unhealthy() {
		return Health{}
	}
	h.Failures++
	if h.Failures == 1 || r.Attempt.StartedAt.Before(h.Since) {
		h.Since = r.Attempt.StartedAt
	}
	h.Status, h.Error = r.Attempt.Status, r.Attempt.Error
	switch {
	case !h.CircuitOpen() && h.Failures >= rules.FailureThreshold && at.Sub(h.Since) >= rules.MinDuration:
		h.OpenedAt, h.Pause = at, rules.FirstProbe
		h.NextProbe = at.Add(h.Pause)
	case h.CircuitOpen() && r.Delivery.Probe:
		h.Pause = min(2*h.Pause, rules.MaxProbeInterval)
		h.NextProbe = at.Add(h.Pause)
	}
	return h
}
