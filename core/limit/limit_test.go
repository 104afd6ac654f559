package limit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// step is a request at a time after noon, with its expected result.
type step struct {
	at      time.Duration
	allowed bool
	wait    time.Duration // of a rejection
}

func TestThrottleFollowsTheSpecifiedRules(t *testing.T) {
	at := func(seconds float64, allowed bool, wait float64) step {
		return step{time.Duration(seconds * float64(time.Second)), allowed, time.Duration(wait * float64(time.Second))}
	}
	for name, row := range map[string]struct {
		rule  Rule
		steps []step
	}{
		"menu: one in 5 s, a breach blocks for 5 s": {
			Rule{1, 5 * time.Second, 5 * time.Second},
			[]step{at(0, true, 0), at(4.9, false, 5), at(5, false, 4.9), at(9.8, false, 0.1), at(9.9, true, 0),
				at(14.9, true, 0)},
		},
		"webhooks: five a minute, the sixth blocks for a minute": {
			Rule{5, time.Minute, time.Minute},
			[]step{at(0, true, 0), at(1, true, 0), at(2, true, 0), at(3, true, 0), at(4, true, 0), at(10, false, 60),
				at(60, false, 10), at(69.9, false, 0.1), at(70, true, 0)},
		},
		"the window slides": {
			Rule{2, time.Minute, time.Minute},
			[]step{at(0, true, 0), at(50, true, 0), at(60, true, 0), at(61, false, 60)},
		},
		"retry: two an hour, allowed again when the window has capacity": {
			Rule{2, time.Hour, 0},
			[]step{at(0, true, 0), at(600, true, 0), at(700, false, 2900), at(3599, false, 1), at(3600, true, 0),
				at(3601, false, 599)},
		},
		"off allows everything": {Rule{}, []step{at(0, true, 0), at(0, true, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &fixedClock{}
			throttle := Throttle{States: memory{}, Clock: clock}
			for i, s := range row.steps {
				clock.now = noon.Add(s.at)
				decision, err := throttle.Take(context.Background(), 1, "X", row.rule)
				require.NoError(t, err)
				require.Equal(t, s.allowed, decision.Allowed, "step %d", i)
				require.Equal(t, s.wait, decision.RetryAfter, "step %d", i)
			}
		})
	}
}

func TestThrottleNeverExceedsItsCountInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{rapid.IntRange(1, 600).Draw(t, "count"), time.Minute, 0}
		s, now := &window{}, noon
		var passed []time.Time
		for range rapid.IntRange(1, 1500).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "gap")) * time.Millisecond)
			s = decode(s.encode())
			if rule.take(s, now).Allowed {
				passed = append(passed, now)
			}
		}
		for i := range passed {
			if j := i + rule.Count; j < len(passed) && passed[j].Sub(passed[i]) < rule.Per {
				t.Fatalf("%d requests within %v", rule.Count+1, passed[j].Sub(passed[i]))
			}
		}
		if len(s.entries) > maxEntries+2 {
			t.Fatalf("the log has %d entries", len(s.entries))
		}
	})
}

func TestThrottleRulesAreParsed(t *testing.T) {
	rule, err := ParseRule("20/1m")
	require.NoError(t, err)
	require.Equal(t, Rule{20, time.Minute, time.Minute}, rule)
	off, err := ParseRule("OFF")
	require.NoError(t, err)
	require.True(t, off.Off())
	for _, wrong := range []string{"", "20", "20/", "x/1m", "0/1m", "-1/1m", "20/0s", "20/1", "20/1000h"} {
		_, err := ParseRule(wrong)
		require.Error(t, err, wrong)
	}
}

type fixedClock struct{ now time.Time }

func (c *fixedClock) Now() time.Time                          { return c.now }
func (c *fixedClock) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }

type memory map[string][]byte

func (m memory) Change(_ context.Context, _ core.BusinessID, name string, change func([]byte) []byte) error {
	m[name] = change(m[name])
	return nil
}

func TestTimesAheadOfTheClockDoNotCount(t *testing.T) {
	rule := Rule{Count: 1, Per: 5 * time.Second, Block: 5 * time.Second}
	var s window
	now := time.Now()
	require.True(t, rule.take(&s, now).Allowed)
	require.False(t, rule.take(&s, now).Allowed)
	require.False(t, rule.take(&s, now.Add(-time.Second)).Allowed, "the clocks of replicas differ a little")
	require.True(t, rule.take(&s, now.Add(-time.Hour)).Allowed)
}
