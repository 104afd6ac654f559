package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var probing = CircuitRules{}.withDefaults()

func result(status int, probe bool, at time.Time) Result {
	a := Attempt{StartedAt: at, Status: status}
	if status < 200 || status > 299 {
		a.ErrorClass, a.Error = Status, "no"
	}
	return Result{Delivery: Delivery{Probe: probe}, Attempt: a}
}

func TestFailureStatusesCountAgainstTheEndpoint(t *testing.T) {
	for status, unhealthy := range map[int]bool{
		0: true, 500: true, 502: true, 503: true, 599: true, 429: true,
		200: false, 204: false, 301: false, 400: false, 401: false, 404: false, 408: false, 410: false, 499: false,
	} {
		require.Equal(t, unhealthy, Attempt{Status: status}.Unhealthy(), status)
	}
	for class, unhealthy := range map[ErrorClass]bool{ // after any status
		Timeout: true, ConnectionBroken: true, Protocol: true, Redirect: false, Status: false, Gone: false, "": false,
	} {
		for _, status := range []int{200, 302, 404, 410} {
			require.Equal(t, unhealthy, Attempt{Status: status, ErrorClass: class}.Unhealthy(), "%s after %d", class,
				status)
		}
	}
}

func TestCircuitOpensAfterTwentyFailuresOverAMinute(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		failures int
		last     time.Duration // from the first failure to the last
		probed   bool
	}{
		"enough and long enough": {20, time.Minute, true},
		"one too few":            {19, time.Hour, false},
		"too soon":               {500, time.Minute - 1, false},
	} {
		h := Health{}
		for i := range row.failures {
			at := start
			if i == row.failures-1 {
				at = start.Add(row.last)
			}
			require.False(t, h.CircuitOpen(), name)
			h = h.After(result(503, false, at), at, probing)
		}
		require.Equal(t, row.probed, h.CircuitOpen(), name)
		require.Equal(t, start, h.Since, name)
		if row.probed {
			require.Equal(t, start.Add(row.last+time.Second), h.NextProbe)
		}
	}
}

func TestProbeIntervalsGrow(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := Health{Failures: 20, Since: at.Add(-time.Minute), OpenedAt: at, Pause: time.Second,
		NextProbe: at.Add(time.Second)}
	for _, seconds := range []int{2, 4, 8, 16, 30, 30} {
		at = at.Add(time.Second)
		before := h.NextProbe
		h = h.After(result(0, false, at), at, probing)
		require.Equal(t, before, h.NextProbe, "an attempt already in flight changes nothing")
		h = h.After(result(0, true, at), at, probing)
		require.Equal(t, at.Add(time.Duration(seconds)*time.Second), h.NextProbe)
	}
	require.Equal(t, Health{}, h.After(result(404, false, at), at, probing), "any complete response closes the circuit")
}

// The incremental result is compared with rules over all attempts since the last healthy one.
func TestHealthAgreesWithAllAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := CircuitRules{
			FailureThreshold: rapid.IntRange(1, 6).Draw(t, "after"),
			MinDuration:      time.Duration(rapid.IntRange(0, 20).Draw(t, "for")) * time.Second,
			FirstProbe:       time.Second, MaxProbeInterval: 5 * time.Second,
		}
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		h := Health{}
		var bad []time.Time // the failed attempts since the last healthy one
		probed, probes := false, 0
		for range rapid.IntRange(0, 40).Draw(t, "attempts") {
			at = at.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "wait")) * time.Second)
			status := rapid.SampledFrom([]int{0, 500, 503, 429, 0, 500, 200, 400, 302}).Draw(t, "status")
			probe := probed && rapid.Bool().Draw(t, "probe")
			tried := result(status, probe, at)
			cut := rapid.Bool().Draw(t, "the response was incomplete")
			if cut {
				tried.Attempt.ErrorClass = Timeout
			}
			before := h
			h = h.After(tried, at, rules)
			if !cut && status != 0 && status < 500 && status != 429 {
				bad, probed, probes = nil, false, 0
				require.Equal(t, Health{}, h)
				continue
			}
			bad = append(bad, at)
			if probe {
				probes++
			}
			if !probed && len(bad) >= rules.FailureThreshold && at.Sub(bad[0]) >= rules.MinDuration {
				probed = true
				require.Equal(t, at, h.OpenedAt)
				require.Equal(t, at.Add(rules.FirstProbe), h.NextProbe)
			}
			require.Equal(t, len(bad), h.Failures)
			require.Equal(t, bad[0], h.Since)
			require.Equal(t, status, h.Status)
			require.Equal(t, probed, h.CircuitOpen())
			switch {
			case probe:
				require.Equal(t, at.Add(min(rules.FirstProbe<<probes, rules.MaxProbeInterval)), h.NextProbe)
			case before.CircuitOpen():
				require.Equal(t, before.NextProbe, h.NextProbe)
			}
		}
	})
}
