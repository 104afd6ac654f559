package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestFirstIDClampsTimesOutOfRange(t *testing.T) {
	made := core.NewID(time.Now())
	for _, long := range []time.Time{time.UnixMilli(-1), time.Now().AddDate(-292, 0, 0), {}} {
		require.Equal(t, core.ID{}, core.FirstID(long))
	}
	late := core.FirstID(time.UnixMilli(1 << 48))
	require.Greater(t, late.String(), made.String())
	require.Equal(t, late, core.FirstID(time.UnixMilli(1<<62)))
}
