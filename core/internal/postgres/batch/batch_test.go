package batch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// batcherHarness is a Batcher whose batches wait until the test releases them.
type batcherHarness struct {
	batcher Batcher[int, int]
	started chan []int
	release chan struct{}
}

func newBatcherHarness(size, waiting int) *batcherHarness {
	at := &batcherHarness{started: make(chan []int, 100), release: make(chan struct{}, 100)}
	at.batcher = Batcher[int, int]{MaxConcurrent: 1, MaxBatch: size, MaxWaiting: waiting,
		Run: func(_ context.Context, requests []int) []Result[int] {
			at.started <- requests
			<-at.release
			results := make([]Result[int], len(requests))
			for i, q := range requests {
				if results[i].Value = 10 * q; q == 13 {
					results[i].Err = errors.New("unlucky")
				}
			}
			return results
		}}
	return at
}

// queued waits until n requests wait for a batch.
func (at *batcherHarness) queued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		at.batcher.mu.Lock()
		defer at.batcher.mu.Unlock()
		return len(at.batcher.queue) == n
	}, 10*time.Second, time.Millisecond)
}

func TestRequestsDuringABatchShareTheNext(t *testing.T) {
	at := newBatcherHarness(3, 100)
	var asking sync.WaitGroup
	ask := func(q int) {
		asking.Go(func() {
			result, err := at.batcher.Do(context.Background(), q)
			if q == 13 {
				require.EqualError(t, err, "unlucky")
				return
			}
			require.NoError(t, err)
			require.Equal(t, 10*q, result)
		})
	}
	ask(1)
	require.Equal(t, []int{1}, <-at.started)
	for n, q := range []int{2, 13, 4, 5} {
		ask(q)
		at.queued(t, n+1)
	}
	require.Empty(t, at.started, "no request joins the running batch")
	at.release <- struct{}{}
	require.Equal(t, []int{2, 13, 4}, <-at.started, "a batch is bounded")
	at.release <- struct{}{}
	require.Equal(t, []int{5}, <-at.started)
	at.release <- struct{}{}
	asking.Wait()
	at.batcher.Close()
	_, err := at.batcher.Do(context.Background(), 6)
	require.Equal(t, core.Unavailable, core.CodeOf(err))
}

func TestCancelledRequestsJoinNoBatch(t *testing.T) {
	at := newBatcherHarness(3, 2)
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := at.batcher.Do(ctx, 1)
		first <- err
	}()
	<-at.started
	waiting, giveUp := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() {
		_, err := at.batcher.Do(waiting, 2)
		second <- err
	}()
	at.queued(t, 1)
	giveUp()
	require.Equal(t, core.Unavailable, core.CodeOf(<-second), "the error says that the request was not run")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled, "the result of a taken request is unknown")
	third := make(chan error, 1)
	go func() {
		_, err := at.batcher.Do(context.Background(), 3)
		third <- err
	}()
	at.queued(t, 2)
	_, err := at.batcher.Do(context.Background(), 4)
	require.Equal(t, core.Unavailable, core.CodeOf(err), "the queue is bounded")
	at.release <- struct{}{}
	require.Equal(t, []int{3}, <-at.started)
	at.release <- struct{}{}
	require.NoError(t, <-third)
	at.batcher.Close()
}

func TestCallersThatCallAgainShareABatch(t *testing.T) {
	for name, apart := range map[string]time.Duration{"at once": 0, "one after another": gatherPause * 9 / 10} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const callers, calls = 4, 20
				batches := 0
				b := Batcher[int, int]{MaxConcurrent: 1, MaxBatch: 100, MaxWaiting: 100,
					Run: func(_ context.Context, requests []int) []Result[int] {
						batches++
						time.Sleep(time.Millisecond) // the transaction
						return make([]Result[int], len(requests))
					}}
				var calling sync.WaitGroup
				for caller := range callers {
					calling.Go(func() {
						for range calls {
							_, err := b.Do(context.Background(), 0)
							require.NoError(t, err)
							<-time.After(time.Duration(caller) * apart)
						}
					})
				}
				calling.Wait()
				b.Close()
				require.LessOrEqual(t, batches, calls+2, "only the first call had a batch of its own")
			})
		})
	}
}

func TestCallerWaitsTwoPausesForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := newBatcherHarness(10, 10)
		var calling sync.WaitGroup
		call := func() { _, _ = at.batcher.Do(context.Background(), 1) }
		calling.Go(call)
		synctest.Wait()
		calling.Go(call)
		calling.Go(call)
		synctest.Wait()
		for range 3 {
			at.release <- struct{}{}
		}
		calling.Wait()
		began := time.Now()
		call()
		require.Equal(t, 2*gatherPause, time.Since(began), "one after its own arrival")
		at.batcher.Close()
	})
}

func TestASingleCallerWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Batcher[int, int]{MaxConcurrent: 1, MaxBatch: 100, MaxWaiting: 100,
			Run: func(context.Context, []int) []Result[int] { return make([]Result[int], 1) }}
		began := time.Now()
		for range 10 {
			_, err := b.Do(context.Background(), 0)
			require.NoError(t, err)
		}
		require.Zero(t, time.Since(began))
		b.Close()
	})
}

func TestPanicFailsOnlyItsBatch(t *testing.T) {
	r := Batcher[int, int]{MaxConcurrent: 1, MaxBatch: 1, MaxWaiting: 9,
		Run: func(_ context.Context, requests []int) []Result[int] {
			if requests[0] == 1 {
				panic("broken")
			}
			return []Result[int]{{Value: 7}}
		}}
	_, err := r.Do(context.Background(), 1)
	require.ErrorContains(t, err, "panic: broken")
	result, err := r.Do(context.Background(), 2)
	require.NoError(t, err)
	require.Equal(t, 7, result)
	r.Close()
}
