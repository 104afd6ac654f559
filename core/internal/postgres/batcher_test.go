package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// table is a Batcher whose batches wait until the test releases them.
type table struct {
	rounds Batcher[int, int]
	begun  chan []int
	letGo  chan struct{}
}

func newTable(size, waiting int) *table {
	at := &table{begun: make(chan []int, 100), letGo: make(chan struct{}, 100)}
	at.rounds = Batcher[int, int]{MaxConcurrent: 1, MaxBatch: size, MaxWaiting: waiting,
		Run: func(_ context.Context, questions []int) []Result[int] {
			at.begun <- questions
			<-at.letGo
			verdicts := make([]Result[int], len(questions))
			for i, q := range questions {
				if verdicts[i].Value = 10 * q; q == 13 {
					verdicts[i].Err = errors.New("unlucky")
				}
			}
			return verdicts
		}}
	return at
}

// queued waits until n requests wait for a batch.
func (at *table) queued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		at.rounds.mu.Lock()
		defer at.rounds.mu.Unlock()
		return len(at.rounds.queue) == n
	}, 10*time.Second, time.Millisecond)
}

func TestRequestsDuringABatchShareTheNext(t *testing.T) {
	at := newTable(3, 100)
	var asking sync.WaitGroup
	ask := func(q int) {
		asking.Go(func() {
			answer, err := at.rounds.Do(context.Background(), q)
			if q == 13 {
				require.EqualError(t, err, "unlucky")
				return
			}
			require.NoError(t, err)
			require.Equal(t, 10*q, answer)
		})
	}
	ask(1)
	require.Equal(t, []int{1}, <-at.begun)
	for n, q := range []int{2, 13, 4, 5} {
		ask(q)
		at.queued(t, n+1)
	}
	require.Empty(t, at.begun, "none of them is answered by the round that began before")
	at.letGo <- struct{}{}
	require.Equal(t, []int{2, 13, 4}, <-at.begun, "a round is bounded")
	at.letGo <- struct{}{}
	require.Equal(t, []int{5}, <-at.begun)
	at.letGo <- struct{}{}
	asking.Wait()
	at.rounds.Close()
	_, err := at.rounds.Do(context.Background(), 6)
	require.Equal(t, core.Unavailable, core.CodeOf(err))
}

func TestCancelledRequestsJoinNoBatch(t *testing.T) {
	at := newTable(3, 2)
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := at.rounds.Do(ctx, 1)
		first <- err
	}()
	<-at.begun
	waiting, giveUp := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() {
		_, err := at.rounds.Do(waiting, 2)
		second <- err
	}()
	at.queued(t, 1)
	giveUp()
	require.Equal(t, core.Unavailable, core.CodeOf(<-second), "nothing came of it, and it says so")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled, "what came of the one that was taken is not known")
	third := make(chan error, 1)
	go func() {
		_, err := at.rounds.Do(context.Background(), 3)
		third <- err
	}()
	at.queued(t, 2)
	_, err := at.rounds.Do(context.Background(), 4)
	require.Equal(t, core.Unavailable, core.CodeOf(err), "the queue is bounded")
	at.letGo <- struct{}{}
	require.Equal(t, []int{3}, <-at.begun)
	at.letGo <- struct{}{}
	require.NoError(t, <-third)
	at.rounds.Close()
}

func TestPanicFailsOnlyItsBatch(t *testing.T) {
	r := Batcher[int, int]{MaxConcurrent: 1, MaxBatch: 1, MaxWaiting: 9,
		Run: func(_ context.Context, questions []int) []Result[int] {
			if questions[0] == 1 {
				panic("broken")
			}
			return []Result[int]{{Value: 7}}
		}}
	_, err := r.Do(context.Background(), 1)
	require.ErrorContains(t, err, "panic: broken")
	answer, err := r.Do(context.Background(), 2)
	require.NoError(t, err)
	require.Equal(t, 7, answer)
	r.Close()
}
