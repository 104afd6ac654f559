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

// fakeLister lists jobs that ended on another replica, and counts its calls.
type fakeLister struct {
	mu    sync.Mutex
	ended map[core.ID]bool
	calls int
	err   error
}

func (e *fakeLister) ListEnded(_ context.Context, jobs []Ref) (found []core.ID, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	for _, job := range jobs {
		if e.ended[job.ID] {
			found = append(found, job.ID)
		}
	}
	return found, e.err
}

func (e *fakeLister) end(id core.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended[id] = true
}

// runWaiter runs a test with a Waiter in a synctest bubble. Run ends with the test.
func runWaiter(t *testing.T, test func(t *testing.T, w *Waiter, elsewhere *fakeLister)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		elsewhere := &fakeLister{ended: map[core.ID]bool{}}
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

func clientPresent() bool { return false }

// begin starts a wait of the given number of seconds.
func begin(w *Waiter, job Ref, seconds int, gone func() bool) <-chan WaitResult {
	result := make(chan WaitResult, 1)
	until := time.Now().Add(time.Duration(seconds) * time.Second)
	go func() { result <- w.Wait(job, until, gone) }()
	synctest.Wait()
	return result
}

func newRef(business core.BusinessID) Ref { return Ref{business, core.NewID(time.Now())} }

func TestWaitEndsWithTheJob(t *testing.T) {
	runWaiter(t, func(t *testing.T, w *Waiter, elsewhere *fakeLister) {
		here, there := newRef(1), newRef(2)
		began := time.Now()
		one, two := begin(w, here, 10, clientPresent), begin(w, here, 10, clientPresent)
		other := begin(w, there, 10, clientPresent)
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

func TestShortJobsOnOtherReplicasAreFoundSoon(t *testing.T) {
	runWaiter(t, func(t *testing.T, w *Waiter, elsewhere *fakeLister) {
		long := begin(w, newRef(1), 15, clientPresent)
		time.Sleep(10 * time.Second)
		short := newRef(2)
		elsewhere.end(short.ID)
		began := time.Now()
		require.Equal(t, WaitEnded, <-begin(w, short, 15, clientPresent))
		require.LessOrEqual(t, time.Since(began), firstPoll, "a new wait shortens the interval")
		require.Equal(t, WaitTimedOut, <-long)
		require.Less(t, elsewhere.calls, 50)
		looks := elsewhere.calls
		time.Sleep(time.Minute)
		require.Equal(t, looks, elsewhere.calls, "no polls while no request waits")
	})
}

func TestPollingContinuesWhileRequestsArrive(t *testing.T) {
	runWaiter(t, func(t *testing.T, w *Waiter, elsewhere *fakeLister) {
		job := newRef(1)
		elsewhere.end(job.ID)
		first := begin(w, job, 15, clientPresent)
		began := time.Now()
		for range 30 { // each before the next poll is due
			time.Sleep(firstPoll / 5)
			w.NotifyEnded(newRef(2).ID)
			one := newRef(3)
			result := begin(w, one, 1, clientPresent)
			w.NotifyEnded(one.ID)
			require.Equal(t, WaitEnded, <-result)
		}
		require.Equal(t, WaitEnded, <-first)
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestWaitEndsWithoutTheJob(t *testing.T) {
	runWaiter(t, func(t *testing.T, w *Waiter, elsewhere *fakeLister) {
		elsewhere.err = errors.New("no database")
		began := time.Now()
		require.Equal(t, WaitTimedOut, <-begin(w, newRef(1), 7, clientPresent))
		require.Equal(t, 7*time.Second, time.Since(began))

		began = time.Now()
		require.Equal(t, WaitClientGone, <-begin(w, newRef(1), 15,
			func() bool { return time.Since(began) > time.Second }))
		require.Less(t, time.Since(began), 2*time.Second)

		waiting := begin(w, newRef(1), 15, clientPresent)
		began = time.Now()
		w.Stop()
		w.Stop()
		require.Equal(t, WaitStopping, <-waiting)
		require.Zero(t, time.Since(began))
		require.Equal(t, WaitStopping, <-begin(w, newRef(1), 15, clientPresent))
	})
}

func TestWaitsAreBounded(t *testing.T) {
	runWaiter(t, func(t *testing.T, w *Waiter, _ *fakeLister) {
		var waiting []<-chan WaitResult
		for n := range MaxWaiting {
			waiting = append(waiting, begin(w, newRef(core.BusinessID(1+n/MaxBusinessWaiting)), 5, clientPresent))
			if n == MaxBusinessWaiting-1 {
				require.Equal(t, WaitFull, <-begin(w, newRef(1), 5, clientPresent), "one business")
			}
		}
		began := time.Now()
		require.Equal(t, WaitFull, <-begin(w, newRef(9999), 5, clientPresent), "all businesses")
		require.Zero(t, time.Since(began))
		for _, result := range waiting {
			require.Equal(t, WaitTimedOut, <-result)
		}
		again := newRef(1)
		result := begin(w, again, 5, clientPresent)
		w.NotifyEnded(again.ID)
		require.Equal(t, WaitEnded, <-result, "an ended wait frees capacity")
	})
}
