package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestConcurrencyLimitStaysBoundedAndRecovers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := concurrencyLimiter{current: 4, max: rapid.IntRange(4, 64).Draw(r, "max")}
		for _, responded := range rapid.SliceOf(rapid.Bool()).Draw(r, "responses") {
			before := l.current
			l.record(responded)
			require.True(r, l.current >= 1 && l.current <= l.max)
			require.True(r, responded == (l.current > before) || before == l.max || before == 1)
		}
		for range l.max {
			l.record(true)
		}
		require.Equal(r, l.max, l.current)
		l.record(false)
		require.Equal(r, l.max/2, l.current)
	})
}

// fresh returns the queue of a key without history.
func fresh() *keyQueue[item] {
	return &keyQueue[item]{limit: concurrencyLimiter{current: 4, max: 16}, maxWaiting: 1000}
}

func TestAllowanceFollowsPaceAndResponses(t *testing.T) {
	at := time.Now()
	s := fresh()
	s.running = 3000
	for _, step := range []struct {
		times          int
		response       Response
		took           time.Duration
		limit, allowed int
	}{
		{1, NoRequest, 0, 4, 4},
		{1, Responded, 10 * time.Millisecond, 5, 5 + 5*16}, {1, Responded, 400 * time.Millisecond, 6, 6 + 6*2},
		{1, Responded, 1500 * time.Millisecond, 7, 7 + 3},
		{28, Responded, 1500 * time.Millisecond, 16, 16 + 31}, {1, NoResponse, 5 * time.Second, 8, 8 + 31},
		{9, NoResponse, 5 * time.Second, 1, 1 + 31},
		{3, Responded, 0, 4, 4 + 4*16}, {2000, Responded, 0, 16, 16 + 1000},
		{1, NoRequest, 5 * time.Second, 16, 16 + 1000},
	} {
		for range step.times {
			s.runEnded(at, step.took, step.response)
		}
		require.Equal(t, []int{step.limit, step.allowed}, []int{s.limit.current, s.allowed(at)}, "%+v", step)
	}
	s.running = 0
	require.Equal(t, 16+16*16, s.allowed(at.Add(3*time.Second)), "earlier responses no longer count")
	s.running = 1
	require.Equal(t, 16, s.allowed(at.Add(3*time.Second)), "the key hangs")
	s.maxWaiting = 0
	require.Equal(t, 16, s.allowed(at))
}

func TestMissingResponsesLeaveLittleAllowance(t *testing.T) {
	at := time.Now()
	for took, allowed := range map[time.Duration]int{5 * time.Second: 1, time.Millisecond: 1 + 16} {
		s := fresh()
		for range 4 {
			s.runEnded(at, took, NoResponse)
		}
		require.Equal(t, allowed, s.allowed(at), "%v", took)
	}
}

func TestClaimsRefillAKeyBeforeItRunsDry(t *testing.T) {
	at := time.Now()
	s := &keyQueue[item]{limit: concurrencyLimiter{current: 16, max: 16}, maxWaiting: 1000,
		responses: 10, secondStart: at, lastProgress: at,
		lastRunTime: time.Second, running: 16}
	for waiting, free := range map[int]int{16: 0, 9: 0, 8: 8, 1: 15, 0: 16} {
		s.waiting = make([]leased[item], waiting)
		require.Equal(t, free, s.free(at, 512), "%d waiting", waiting)
	}
	s.responses, s.waiting = 900, make([]leased[item], 750)
	require.Zero(t, s.free(at, 200))
	s.responses = 1000
	require.Equal(t, 250, s.free(at, 200), "a whole batch, though half of the allowance still waits")
}

func TestSlowKeyReleasesItemsAboveItsAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTable()
		config := small()
		config.Capacity, config.KeyLimit, config.MaxWaiting = 100, 16, 50
		q.run = hang
		e := engineOf(q, config)
		defer e.running.Wait()
		defer e.cancel()
		s := e.keyQueue(1)
		s.responses, s.lastRunTime = 100, 5*time.Second
		for id := range 50 {
			require.True(t, e.Reserve(1))
			e.Start(item{id: id, key: 1, until: e.LeaseUntil(), urgent: id == 49})
		}
		require.Empty(t, e.takeReleased())
		e.mu.Lock()
		s.responses = 0
		e.startWaiting(s)
		e.mu.Unlock()
		require.Len(t, e.takeReleased(), 50-4-1, "except the urgent item")
		require.Len(t, s.waiting, 1)
	})
}

func TestPauseDuringAClaimReleasesItsItems(t *testing.T) {
	q := newTable()
	e := engineOf(q, small())
	defer e.cancel()
	e.capacity() // a claim begins, and the key is paused meanwhile
	e.keyQueue(1).pause(time.Now(), time.Now().Add(time.Hour))
	normal := item{id: 1, key: 1, until: e.LeaseUntil()}
	urgent := item{id: 2, key: 1, until: e.LeaseUntil(), urgent: true}
	e.accept([]item{normal, urgent})
	e.running.Wait()
	require.Equal(t, []item{normal}, e.takeReleased())
	require.Equal(t, []int{2}, q.started[1])
}

func TestPauseEndsWhenTheClockIsSetBack(t *testing.T) {
	s := &keyQueue[int]{}
	now := time.Now()
	s.pause(now, now.Add(5*time.Second))
	s.pause(now, now.Add(time.Second)) // ends earlier
	require.True(t, s.paused(now.Add(4*time.Second)))
	require.False(t, s.paused(now.Add(5*time.Second)))
	require.False(t, s.paused(now.Add(-time.Hour)))
	s.pause(now.Add(-time.Hour), now.Add(-time.Hour+time.Second))
	require.True(t, s.paused(now.Add(-time.Hour)))
	require.False(t, s.paused(now.Add(-time.Hour+time.Second)))
}

func TestIdleKeysAreForgotten(t *testing.T) {
	q := newTable()
	e := engineOf(q, small())
	e.keyQueue(1)
	e.keyQueue(2).reserved = 1
	e.keyQueue(3).pausedUntil = time.Now().Add(time.Hour)
	for _, s := range e.keyQueues {
		s.secondStart = s.secondStart.Add(-2 * idleTime)
	}
	c, resumed := e.capacity()
	require.Equal(t, []int64{3}, c.Busy)
	require.Equal(t, map[int64]int{2: 3}, c.PerKey)
	require.Equal(t, e.keyQueues[3].pausedUntil, resumed)
	require.Len(t, e.keyQueues, 2)
}
