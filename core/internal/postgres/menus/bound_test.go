package menus

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

func TestLargeMenusAreReadOneAtATime(t *testing.T) {
	piece := postgres.CopyRow{make([]byte, 1<<20), make([]byte, 1<<20)}
	read := func(b *menuBound, bytes int) (admitted bool) {
		for b.bytes < bytes {
			admitted = b.admit(context.Background(), piece)
		}
		return admitted
	}
	var small, large, huge menuBound
	require.True(t, read(&small, largeMenu), "not counted as large")
	require.False(t, small.alone)
	synctest.Test(t, func(t *testing.T) {
		require.True(t, read(&large, largeMenu+1))
		var second menuBound
		var admitted atomic.Bool
		go func() { admitted.Store(second.admit(context.Background(), piece) && read(&second, largeMenu+1)) }()
		synctest.Wait()
		require.False(t, admitted.Load(), "it waits")
		large.release()
		synctest.Wait()
		require.True(t, admitted.Load())
		second.release()
	})
	require.True(t, read(&huge, maxMenu))
	require.False(t, read(&huge, maxMenu+1))
	require.Equal(t, core.Conflict, core.CodeOf(huge.err))
	require.False(t, huge.admit(t.Context(), nil), "nothing more is kept")
	huge.release()
	require.True(t, largeMenus.TryAcquire(1), "released")
	largeMenus.Release(1)
}
