package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// hangUntilAbandoned blocks until the context ends. It releases the item, as the policies do.
func hangUntilAbandoned(ctx context.Context, _ item) Outcome {
	<-ctx.Done()
	if Abandoned(ctx) {
		return Outcome{Next: Release}
	}
	return Outcome{Response: NoResponse}
}

func TestPausedEngineClaimsAndStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(8, 1)...)
		q.unlimited = true // four wait for the concurrency limit
		first := make(chan struct{})
		q.run = func(context.Context, item) Outcome {
			<-first
			return Outcome{Response: Responded}
		}
		config := small()
		config.Poll, config.MaxWaiting = time.Second, 8
		e, stop := start(t, q, config)
		defer stop()
		<-time.After(1500 * time.Millisecond) // between two polls
		e.Pause()
		q.locked(func() {
			q.pending = append(q.pending, item{id: 99, key: 2})
			require.Len(t, q.started[1], 4)
		})
		claims := len(q.claims)
		close(first)
		<-time.After(10 * time.Second)
		q.locked(func() {
			require.Len(t, q.claims, claims)
			require.Len(t, q.started[1], 4, "items that wait do not start")
			require.Len(t, q.recorded, 4, "what ran is recorded")
		})
		require.False(t, e.Reserve(3))
		e.Resume()
		<-time.After(time.Second)
		q.locked(func() { require.Len(t, q.recorded, 9) })
		require.True(t, e.Reserve(3))
		e.CancelReservation(3)
	})
}

func TestAbandonReleasesEverythingAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(8, 1)...)
		q.unlimited = true // four wait for the concurrency limit
		q.run = hangUntilAbandoned
		config := small()
		config.MaxWaiting = 8
		e, stop := start(t, q, config)
		defer stop()
		require.True(t, e.Reserve(2))
		synctest.Wait()
		e.Pause()
		e.Abandon()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, settled := e.Settle(ctx)
		require.False(t, settled, "a transaction with a reservation may still commit")
		cancel()
		e.Start(item{id: 50, key: 2})
		held, settled := e.Settle(t.Context())
		require.True(t, settled)
		require.Empty(t, held)
		q.locked(func() {
			slices.Sort(q.released)
			require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 50}, q.released)
			require.Empty(t, q.recorded)
			require.Empty(t, q.leased)
			q.run = nil
		})
		e.Resume()
		<-time.After(2 * gatherPause)
		q.locked(func() { require.Len(t, q.recorded, 9) })
	})
}

func TestSettleReturnsTheItemsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(6, 1)...)
		q.run = hang
		config := small()
		config.MaxWaiting = 6
		e, stop := start(t, q, config)
		defer stop()
		synctest.Wait()
		e.Pause()
		held, settled := e.Settle(t.Context())
		require.True(t, settled)
		require.Len(t, held, len(q.leased))
		require.NotEmpty(t, held)
	})
}

func TestResultsAreRecordedSoonWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(1, 1)...)
		q.onClaim = func() { q.failing = true }
		e, stop := start(t, q, small())
		defer stop()
		<-time.After(20 * time.Second) // the pauses are long now
		q.locked(func() { q.failing, q.onClaim = false, nil })
		e.RecordSoon()
		synctest.Wait()
		q.locked(func() { require.Equal(t, []int{0}, q.recorded) })
	})
}

func TestEnginesUseTheirOwnerInLeases(t *testing.T) {
	config := small()
	config.Owner = core.ID{7}
	require.Equal(t, core.ID{7}, engineOf(newTable(), config).Owner())
	require.NotEqual(t, core.ID{}, engineOf(newTable(), small()).Owner())
}

func TestEngineAtRestPollsRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(item{key: 1, due: time.Now().Add(30 * time.Second)})
		config := small()
		config.Poll, config.Rest = time.Second, time.Hour
		_, stop := start(t, q, config)
		defer stop()
		<-time.After(20 * time.Second)
		q.locked(func() { require.Len(t, q.claims, 1, "nothing was due") })
		<-time.After(20 * time.Second)
		q.locked(func() { require.Len(t, q.recorded, 1, "it is claimed at its due time") })
		q.locked(func() { q.failing = true })
		<-time.After(time.Hour)
		var claims int
		q.locked(func() { claims = len(q.claims) })
		<-time.After(10 * time.Second)
		q.locked(func() { require.GreaterOrEqual(t, len(q.claims), claims+9, "a failed claim is retried soon") })
	})
}
