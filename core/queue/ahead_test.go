package queue

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// slowTable takes 20 ms for a claim.
type slowTable struct{ *table }

func (t slowTable) Claim(ctx context.Context, owner core.ID, c Capacity, until time.Time) (Batch[item], error) {
	batch, err := t.table.Claim(ctx, owner, c, until)
	<-time.After(20 * time.Millisecond)
	return batch, err
}

func TestItemsClaimedAheadStartWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		due := func(after time.Duration) item { return item{key: 1, due: began.Add(after)} }
		q := newTable(due(time.Second), due(time.Second+40*time.Millisecond), due(2*time.Second))
		q.clock = core.NewSystemClock(nil)
		late := map[int]time.Duration{}
		q.run = func(_ context.Context, work item) Outcome {
			late[work.id] = time.Since(work.due)
			return Outcome{Response: Responded}
		}
		config := small()
		config.Ahead = 100 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		New(config, slowTable{q}, q.clock, slog.New(slog.DiscardHandler)).Run(ctx)
		require.Equal(t, map[int]time.Duration{0: 0, 1: 0, 2: 0}, late)
		require.LessOrEqual(t, len(q.claims), 8)
	})
}

func TestItemsClaimedAheadAreReleasedAtAStop(t *testing.T) {
	for name, end := range map[string]func(e *Engine[item, int], stop func()){
		"stop":    func(_ *Engine[item, int], stop func()) { stop() },
		"abandon": func(e *Engine[item, int], _ func()) { e.Pause(); e.Abandon() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTable(item{key: 1, due: time.Now().Add(time.Second)})
				q.clock = core.NewSystemClock(nil)
				config := small()
				config.Ahead = 100 * time.Millisecond
				e, stop := start(t, q, config)
				defer stop()
				<-time.After(970 * time.Millisecond)
				q.locked(func() { require.Len(t, q.leased, 1) })
				end(e, stop)
				synctest.Wait()
				q.locked(func() {
					require.Equal(t, []int{0}, q.released)
					require.Empty(t, q.started)
				})
			})
		})
	}
}

func TestLockedItemsAreClaimedWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(1, 1)...)
		q.rowLocks = true
		config := small()
		config.Poll = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			New(config, slowTable{q}, q.clock, slog.New(slog.DiscardHandler)).Run(ctx)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		<-time.After(time.Minute)
		q.locked(func() {
			require.LessOrEqual(t, len(q.claims), 620)
			q.rowLocks = false
		})
		<-time.After(200 * time.Millisecond)
		q.locked(func() { require.Equal(t, []int{0}, q.recorded) })
	})
}
