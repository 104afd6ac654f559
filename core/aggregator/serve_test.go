package aggregator

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestHangingPluginLeavesSlotForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := newServeSlots()
		release, err := slots.acquire(t.Context(), "hanging")
		require.NoError(t, err)
		_, err = slots.acquire(t.Context(), "hanging")
		require.Equal(t, core.Unavailable, core.CodeOf(err))
		for range 2 {
			other, err := slots.acquire(t.Context(), "other")
			require.NoError(t, err)
			other()
		}
		release()
		release, err = slots.acquire(t.Context(), "hanging")
		require.NoError(t, err)
		release()
	})
}
