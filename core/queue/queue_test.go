package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// The engine never polls here: its own results must make it claim again.
func TestEveryItemIsRecordedOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		config := small()
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(r, name) }
		config.Capacity, config.Batch = draw("capacity", 1, 40), draw("batch", 1, 40)
		config.GroupCapacity, config.MaxWaiting = draw("group capacity", 0, config.Capacity), draw("ahead", 0, 20)
		config.KeyLimit, config.FirstLimit = draw("limit", 1, 8), draw("first limit", 1, 8)
		config.Finishers, config.FinishBatch = draw("finishers", 0, 3), draw("finish batch", 0, 5)
		config.Poll = 1e6 * time.Hour
		q := newTable(rapid.SliceOfN(rapid.Custom(func(r *rapid.T) item {
			return item{key: rapid.Int64Range(1, 5).Draw(r, "key"), urgent: rapid.Bool().Draw(r, "urgent"),
				group: rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "group")}
		}), 1, 80).Draw(r, "items")...)
		n := len(q.pending)
		takes := rapid.SliceOfN(rapid.IntRange(0, 3000), n, n).Draw(r, "milliseconds")
		outcomes := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Outcome {
			return Outcome{Next: rapid.SampledFrom([]Next{Finish, Done, Release}).Draw(r, "next"),
				Response: rapid.SampledFrom([]Response{NoRequest, Responded, NoResponse}).Draw(r, "response")}
		}), n, n).Draw(r, "outcomes")
		mostLeased := 0
		q.run = func(_ context.Context, work item) Outcome {
			<-time.After(time.Duration(takes[work.id]) * time.Millisecond)
			q.mu.Lock()
			defer q.mu.Unlock()
			mostLeased = max(mostLeased, len(q.leased))
			outcome := outcomes[work.id]
			outcomes[work.id].Next = Finish // an item is released once only
			return outcome
		}
		synctest.Test(t, func(t *testing.T) {
			q.clock = core.NewSystemClock(nil)
			_, stop := start(t, q, config)
			<-time.After(time.Hour)
			stop()
		})
		slices.Sort(q.recorded)
		require.Len(r, q.recorded, n)
		require.Len(r, slices.Compact(q.recorded), n)
		require.LessOrEqual(r, mostLeased, config.Capacity)
		for key, most := range q.maxRunning {
			require.LessOrEqual(r, most, config.KeyLimit, "key %d", key)
		}
	})
}

func TestItemsOfAKeyStartInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(200, 1)...)
		q.run = func(context.Context, item) Outcome {
			<-time.After(10 * time.Millisecond)
			return Outcome{Response: Responded}
		}
		config := small()
		config.KeyLimit = 1
		_, stop := start(t, q, config)
		<-time.After(time.Minute)
		stop()
		require.Len(t, q.started[1], 200)
		require.True(t, slices.IsSorted(q.started[1]))
	})
}

func TestHangingKeysLeaveCapacityForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []item
		for key := range int64(20) { // the hanging keys are first
			list = append(list, items(40, key)...)
		}
		q := newTable(append(list, items(100, 99)...)...)
		q.run = func(ctx context.Context, work item) Outcome {
			if work.key != 99 {
				return hang(ctx, work)
			}
			return Outcome{Response: Responded}
		}
		config := small()
		config.Capacity, config.Batch, config.MaxWaiting = 100, 20, 50
		_, stop := start(t, q, config)
		<-time.After(time.Millisecond)
		q.locked(func() { require.Len(t, q.started[99], 100) })
		stop()
	})
}

func TestHangingGroupLeavesCapacityForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []item
		for n := range int64(60) {
			list = append(list, item{key: n, group: "hangs"})
		}
		q := newTable(append(list, items(30, 99)...)...)
		q.run = func(ctx context.Context, work item) Outcome {
			if work.group != "" {
				return hang(ctx, work)
			}
			return Outcome{Response: Responded}
		}
		config := small()
		config.GroupCapacity, config.Batch = 8, 4 // groups are checked only between claims
		_, stop := start(t, q, config)
		<-time.After(time.Millisecond)
		q.locked(func() { require.Len(t, q.started[99], 30) })
		stop()
	})
}

func TestPausedKeyIsClaimedWhenItsPauseEnds(t *testing.T) {
	for name, c := range map[string]struct {
		next    Next
		claimed int
	}{"recorded": {Finish, 1}, "released": {Release, 1}, "waiting in memory": {Finish, 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newTable(items(2, 1)...)
				begin := time.Now()
				var at []time.Duration
				q.run = func(context.Context, item) Outcome {
					at = append(at, time.Since(begin))
					if len(at) == 1 {
						return Outcome{Next: c.next, PausedUntil: time.Now().Add(time.Minute)}
					}
					return Outcome{Response: Responded}
				}
				config := small()
				config.KeyLimit, config.ClaimPerKey = 1, c.claimed
				_, stop := start(t, q, config)
				<-time.After(2 * time.Minute)
				stop()
				require.Equal(t, []time.Duration{0, time.Minute}, at[:2])
				require.Empty(t, q.pending)
			})
		})
	}
}

func TestClaimsFollowSignalsDueTimesAndThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		q := newTable(item{key: 1, due: begin.Add(20 * time.Minute)})
		e, stop := start(t, q, small())
		<-time.After(10 * time.Minute)
		e.Wake()
		<-time.After(2 * time.Hour)
		stop()
		var at []time.Duration
		for _, claimed := range q.claimAt {
			at = append(at, claimed.Sub(begin).Round(time.Second))
		}
		require.Equal(t, []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 80 * time.Minute}, at)
		require.Equal(t, []int{0}, q.recorded)
	})
}

func TestFailedClaimWaitsForThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(1, 1)...)
		q.failing = true
		_, stop := start(t, q, small())
		<-time.After(90 * time.Minute)
		q.locked(func() {
			require.Len(t, q.claims, 2)
			q.failing = false
		})
		<-time.After(time.Hour)
		stop()
		require.Equal(t, []int{0}, q.recorded)
	})
}

func TestFailedClaimReleasesItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(3, 1)...)
		q.failAfter = true
		_, stop := start(t, q, small())
		<-time.After(time.Minute)
		q.locked(func() { require.Equal(t, []int{0, 1, 2}, q.released) })
		<-time.After(time.Hour)
		stop()
		require.ElementsMatch(t, []int{0, 1, 2}, q.recorded)
	})
}

func TestResultIsKeptDuringADatabaseOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(3, 1)...)
		q.run = func(context.Context, item) Outcome {
			q.locked(func() { q.failing = true })
			return Outcome{Response: Responded}
		}
		e, stop := start(t, q, small())
		<-time.After(time.Minute)
		e.mu.Lock()
		require.Equal(t, 3, e.held)
		e.mu.Unlock()
		q.locked(func() { q.failing = false })
		<-time.After(2 * maxPause)
		stop()
		require.Len(t, q.recorded, 3)
		require.Zero(t, e.held)
	})
}

func TestStopAbandonsRecordingDuringADatabaseOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(1, 1)...)
		q.run = func(context.Context, item) Outcome {
			q.locked(func() { q.failing = true })
			return Outcome{}
		}
		_, stop := start(t, q, small())
		<-time.After(time.Second)
		begin := time.Now()
		stop()
		require.LessOrEqual(t, time.Since(begin), small().StopWithin+maxPause)
		require.Len(t, q.leased, 1, "it runs again when its lease has expired")
	})
}

func TestStopFinishesRunningItemsAndReleasesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(12, 1)...)
		q.unlimited = true
		q.run = func(context.Context, item) Outcome {
			<-time.After(100 * time.Millisecond)
			return Outcome{Response: Responded}
		}
		e, stop := start(t, q, small())
		<-time.After(50 * time.Millisecond)
		require.True(t, e.Reserve(2))
		stop()
		require.ElementsMatch(t, []int{0, 1, 2, 3}, q.recorded)
		require.Len(t, q.released, 8)
		require.False(t, e.Reserve(3), "it accepts nothing after the stop")
		e.Start(item{id: 100, key: 2})
		require.Contains(t, q.released, 100)
		require.Zero(t, e.held)
	})
}

func TestStopAbandonsHangingItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(2, 1)...)
		q.run = func(ctx context.Context, work item) Outcome {
			if work.id == 0 {
				return hang(ctx, work)
			}
			return hangUntilAbandoned(ctx, work)
		}
		_, stop := start(t, q, small())
		<-time.After(time.Second)
		begin := time.Now()
		stop()
		require.Equal(t, small().StopWithin, time.Since(begin))
		require.Equal(t, [][]int{{0}, {1}}, [][]int{q.recorded, q.released})
	})
}

func TestItemWithExpiringLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(2, 1)...)
		q.unlimited = true
		config := small()
		config.KeyLimit = 1
		q.run = func(context.Context, item) Outcome {
			<-time.After(config.Lease)
			return Outcome{Response: Responded}
		}
		_, stop := start(t, q, config)
		<-time.After(config.Lease + time.Millisecond)
		q.locked(func() { require.Equal(t, []int{1}, q.released) })
		<-time.After(time.Hour)
		stop()
		require.Equal(t, []int{0, 1}, q.recorded)
	})
}

func TestBlockedKeyStartsOnlyUrgentItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(append(items(5, 1), item{key: 1, urgent: true}, item{key: 2})...)
		for id := range q.pending {
			q.pending[id].id = id
		}
		q.unlimited, q.effect = true, FinishResult{Blocked: []int64{1}}
		config := small()
		config.KeyLimit = 1
		q.run = func(_ context.Context, work item) Outcome {
			<-time.After(time.Duration(work.key) * time.Second)
			return Outcome{Response: Responded}
		}
		e := engineOf(q, config)
		capacity, _ := e.capacity()
		claimed, err := q.Claim(t.Context(), e.Owner(), capacity, e.LeaseUntil())
		require.NoError(t, err)
		e.accept(claimed.Items)
		recording := make(chan struct{})
		go func() { defer close(recording); e.finish() }()
		<-time.After(1500 * time.Millisecond)
		require.ElementsMatch(t, []int{2, 3, 4}, ids(e.takeReleased()), "the second had started")
		e.accept([]item{{id: 7, key: 1, until: e.LeaseUntil()}}) // claimed before the key became blocked
		require.Equal(t, []int{7}, ids(e.takeReleased()))
		<-time.After(5 * time.Second)
		_, _ = e.capacity() // another claim
		e.accept([]item{{id: 8, key: 1, until: e.LeaseUntil()}})
		<-time.After(5 * time.Second)
		e.running.Wait()
		close(e.results)
		<-recording
		require.Equal(t, []int{0, 1, 5, 8}, q.started[1])
		require.Zero(t, e.held)
	})
}

func ids(list []item) (ids []int) {
	for _, i := range list {
		ids = append(ids, i.id)
	}
	return ids
}

func TestReservationsCountAgainstCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable()
		config := small()
		config.Capacity, config.KeyLimit = 5, 3
		e, stop := start(t, q, config)
		for range 3 {
			require.True(t, e.Reserve(1))
		}
		require.False(t, e.Reserve(1), "the limit of the key")
		require.True(t, e.Reserve(2))
		require.True(t, e.Reserve(2))
		require.False(t, e.Reserve(3), "the capacity of the replica")
		e.CancelReservation(1)
		require.True(t, e.Reserve(3))
		e.Start(item{id: 1, key: 3, until: e.LeaseUntil()})
		synctest.Wait()
		require.Equal(t, []int{1}, q.recorded)
		require.True(t, e.Reserve(3), "a recorded item takes no capacity")
		stop()
	})
}

func TestReleaseWaitingKeepsRunningItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable(items(6, 1)...)
		q.unlimited, q.run = true, hang
		e, stop := start(t, q, small())
		synctest.Wait()
		q.locked(func() { q.onClaim = func() { q.pending = nil } })
		e.ReleaseWaiting(1, func(i item) bool { return i.id == 5 })
		e.ReleaseWaiting(2, func(item) bool { return true })
		synctest.Wait()
		q.locked(func() { require.Equal(t, []int{5}, q.released) })
		stop()
	})
}

func TestStopLeavesNoGoroutineBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	q := newTable(items(500, 1)...)
	_, stop := start(t, q, small())
	stop()
}
