package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestFirstIDClampsTimesOutOfRange(t *testing.T) {
	id := core.NewID(time.Now())
	for _, early := range []time.Time{time.UnixMilli(-1), time.Now().AddDate(-292, 0, 0), {}} {
		require.Equal(t, core.ID{}, core.FirstID(early))
	}
	latest := core.FirstID(time.UnixMilli(1 << 48))
	require.Greater(t, latest.String(), id.String())
	require.Equal(t, latest, core.FirstID(time.UnixMilli(1<<62)))
}
