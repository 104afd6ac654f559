package menus

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

func TestMenuAboveTheBoundIsNotRead(t *testing.T) {
	piece := postgres.CopyRow{make([]byte, 1<<20), make([]byte, 1<<20)}
	b := menuBound{max: maxMenu}
	for b.bytes < maxMenu {
		require.True(t, b.admit(piece))
	}
	require.NoError(t, b.err())
	require.False(t, b.admit(piece))
	require.False(t, b.admit(nil), "nothing more is kept")
	require.ErrorAs(t, b.err(), new(core.FinalError))
	require.Equal(t, core.Invalid, core.CodeOf(b.err()), "its publication fails")
}

func TestLargeMenusAreReadOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := largeMenus{reading: semaphore.NewWeighted(1)}
		l.learn(1, largeMenu, true)
		for business := core.BusinessID(2); business <= 4; business++ {
			l.learn(business, largeMenu+1, false)
		}
		l.learn(3, 10, false) // an error ended the reading
		l.learn(4, 10, true)
		hold, attempts, read := make(chan struct{}), 0, func(int) error { return nil }
		grown := func(maxBytes int) error {
			if attempts++; maxBytes < maxMenu {
				return errLarge
			}
			return nil
		}
		first := make(chan error, 1)
		go func() {
			first <- l.do(context.Background(), 2, func(int) error {
				<-hold
				return nil
			})
		}()
		synctest.Wait()
		require.NoError(t, l.do(t.Context(), 1, read), "a small one does not wait")
		require.NoError(t, l.do(t.Context(), 4, read), "nor one that is small now")
		began := time.Now()
		require.Equal(t, core.Unavailable, core.CodeOf(l.do(t.Context(), 3, read)))
		require.Equal(t, core.Unavailable, core.CodeOf(l.do(t.Context(), 4, grown)), "it turns out to be large")
		require.Equal(t, 2*largeMenuWait, time.Since(began))
		require.Equal(t, 1, attempts)
		close(hold)
		require.NoError(t, <-first)
		require.NoError(t, l.do(t.Context(), 3, read))
		require.NoError(t, l.do(t.Context(), 4, grown))
		require.Equal(t, 3, attempts)
	})
}
