package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/clocktest"
)

func TestLocalStatesKeepRecentThrottles(t *testing.T) {
	states := &LocalStates{}
	throttle := Throttle{States: states, Clock: clocktest.New()}
	allowed := func(name string) bool {
		t.Helper()
		decision, err := throttle.Take(t.Context(), 0, name, Rule{Count: 1, Per: time.Minute})
		require.NoError(t, err)
		return decision.Allowed
	}
	require.True(t, allowed("a"))
	require.False(t, allowed("a"))
	for n := range maxLocal {
		require.True(t, allowed(fmt.Sprint(n)))
	}
	require.False(t, allowed("a"), "it is among the states before the recent ones")
	for n := range 3 * maxLocal {
		require.True(t, allowed(fmt.Sprint("x", n)))
		require.LessOrEqual(t, len(states.recent)+len(states.older), 2*maxLocal)
	}
	require.True(t, allowed("a"), "it is forgotten")

	peek := func(name string, rule Rule) bool {
		t.Helper()
		decision, err := throttle.Peek(t.Context(), 0, name, rule)
		require.NoError(t, err)
		return decision.Allowed
	}
	require.False(t, peek("a", Rule{Count: 1, Per: time.Minute}))
	for n := range 3 * maxLocal {
		require.True(t, peek(fmt.Sprint("y", n), Rule{Count: 1, Per: time.Minute}))
	}
	require.True(t, peek("a", Rule{}))
	require.False(t, allowed("a"), "what only passed is not stored")
	require.True(t, allowed("y1"), "it was not counted")
}
