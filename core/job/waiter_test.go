package job

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// ends are the jobs that have ended elsewhere, and how often somebody looked.
type ends struct {
	mu    sync.Mutex
	ended map[core.ID]bool
	looks int
	err   error
}

func (e *ends) ListEnded(_ context.Context, jobs []Ref) (found []core.ID, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks++
	for _, job := range jobs {
		if e.ended[job.ID] {
			found = append(found, job.ID)
		}
	}
	return found, e.err
}

func (e *ends) end(id core.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended[id] = true
}

// inBubble runs a test of waits, whose Run ends with it.
func inBubble(t *testing.T, test func(t *testing.T, w *Waiter, elsewhere *ends)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		elsewhere := &ends{ended: map[core.ID]bool{}}
		w := NewWaiter(elsewhere, core.NewSystemClock(nil), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		test(t, w, elsewhere)
		cancel()
		running.Wait()
		require.Zero(t, w.Waiting())
		require.Empty(t, w.waiting)
		require.Empty(t, w.counts)
		require.Empty(t, w.refs)
	})
}

func present() bool { return false }

// begin starts a wait of so many seconds.
func begin(w *Waiter, job Ref, seconds int, gone func() bool) <-chan WaitResult {
	result := make(chan WaitResult, 1)
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	go func() { result <- w.Wait(job, until, gone) }()
	synctest.Wait()
	return result
}

func newRef(business core.BusinessID) Ref { return Ref{business, core.NewID(time.Now())} }

func TestWaitEndsWithTheJob(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Waiter, elsewhere *ends) {
		here, there := newRef(1), newRef(2)
		began := time.Now()
		one, two, other := begin(w, here, 10, present), begin(w, here, 10, present), begin(w, there, 10, present)
		w.NotifyEnded(newRef(1).ID)
		w.NotifyEnded(here.ID)
		require.Equal(t, WaitEnded, <-one)
		require.Equal(t, WaitEnded, <-two)
		require.Zero(t, time.Since(began), "the runner of this replica reports it")
		time.Sleep(3 * time.Second)
		elsewhere.end(there.ID)
		require.Equal(t, WaitEnded, <-other)
		require.LessOrEqual(t, time.Since(began), 3*time.Second+maxPoll, "another replica ran it")
	})
}

func TestShortJobsElsewhereAreFoundSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Waiter, elsewhere *ends) {
		long := begin(w, newRef(1), 15, present)
		time.Sleep(10 * time.Second)
		short := newRef(2)
		elsewhere.end(short.ID)
		began := time.Now()
		require.Equal(t, WaitEnded, <-begin(w, short, 15, present))
		require.LessOrEqual(t, time.Since(began), firstPoll, "a new wait shortens the pauses")
		require.Equal(t, WaitTimedOut, <-long)
		require.Less(t, elsewhere.looks, 50)
		looks := elsewhere.looks
		time.Sleep(time.Minute)
		require.Equal(t, looks, elsewhere.looks, "nobody looks while nobody waits")
	})
}

func TestLooksGoOnWhileRequestsKeepComing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Waiter, elsewhere *ends) {
		job := newRef(1)
		elsewhere.end(job.ID)
		first := begin(w, job, 15, present)
		began := time.Now()
		for range 30 { // each sooner than a look is due
			time.Sleep(firstPoll / 5)
			w.NotifyEnded(newRef(2).ID)
			one := newRef(3)
			result := begin(w, one, 1, present)
			w.NotifyEnded(one.ID)
			require.Equal(t, WaitEnded, <-result)
		}
		require.Equal(t, WaitEnded, <-first)
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestWaitEndsWithoutTheJob(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Waiter, elsewhere *ends) {
		elsewhere.err = errors.New("no database")
		began := time.Now()
		require.Equal(t, WaitTimedOut, <-begin(w, newRef(1), 7, present))
		require.Equal(t, 7*time.Second, time.Since(began))

		began = time.Now()
		require.Equal(t, WaitClientGone, <-begin(w, newRef(1), 15, func() bool { return time.Since(began) > time.Second }))
		require.Less(t, time.Since(began), 2*time.Second)

		waiting := begin(w, newRef(1), 15, present)
		began = time.Now()
		w.Stop()
		w.Stop()
		require.Equal(t, WaitStopping, <-waiting)
		require.Zero(t, time.Since(began))
		require.Equal(t, WaitStopping, <-begin(w, newRef(1), 15, present))
	})
}

func TestWaitsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *Waiter, _ *ends) {
		var waiting []<-chan WaitResult
		for n := range MaxWaiting {
			waiting = append(waiting, begin(w, newRef(core.BusinessID(1+n/MaxBusinessWaiting)), 5, present))
			if n == MaxBusinessWaiting-1 {
				require.Equal(t, WaitFull, <-begin(w, newRef(1), 5, present), "one business")
			}
		}
		began := time.Now()
		require.Equal(t, WaitFull, <-begin(w, newRef(9999), 5, present), "all businesses")
		require.Zero(t, time.Since(began))
		for _, result := range waiting {
			require.Equal(t, WaitTimedOut, <-result)
		}
		again := newRef(1)
		result := begin(w, again, 5, present)
		w.NotifyEnded(again.ID)
		require.Equal(t, WaitEnded, <-result, "what has ended makes room")
	})
}
