package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultWaitsDouble(t *testing.T) {
	var waits []time.Duration
	for failed := 1; ; failed++ {
		wait, more := Default(time.Minute).After(failed)
		if !more {
			break
		}
		waits = append(waits, wait/time.Minute)
	}
	require.Equal(t, []time.Duration{1, 2, 4, 8, 16}, waits)
	_, more := Default(time.Second).After(0)
	require.False(t, more, "no attempt failed")
}

func TestWaitsStayBelowTheMaximum(t *testing.T) {
	s := Schedule{Attempts: 25, FirstWait: time.Second, MaxWait: time.Minute}
	for failed, expected := range map[int]time.Duration{1: time.Second, 6: 32 * time.Second, 7: time.Minute,
		24: time.Minute} {
		wait, more := s.After(failed)
		require.True(t, more)
		require.Equal(t, expected, wait, "after %d failed attempts", failed)
	}
}
