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

// table is where rounds are held that wait to be let go.
type table struct {
	rounds rounds[int, int]
	begun  chan []int
	letGo  chan struct{}
}

func newTable(size, waiting int) *table {
	at := &table{begun: make(chan []int, 100), letGo: make(chan struct{}, 100)}
	at.rounds = rounds[int, int]{beside: 1, size: size, waiting: waiting, ask: func(_ context.Context, questions []int) []verdict[int] {
		at.begun <- questions
		<-at.letGo
		verdicts := make([]verdict[int], len(questions))
		for i, q := range questions {
			if verdicts[i].answer = 10 * q; q == 13 {
				verdicts[i].err = errors.New("unlucky")
			}
		}
		return verdicts
	}}
	return at
}

// queued waits until n questions wait for a round.
func (at *table) queued(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		at.rounds.mu.Lock()
		defer at.rounds.mu.Unlock()
		return len(at.rounds.queue) == n
	}, 10*time.Second, time.Millisecond)
}

func TestQuestionsThatComeDuringARoundShareTheNext(t *testing.T) {
	at := newTable(3, 100)
	var asking sync.WaitGroup
	ask := func(q int) {
		asking.Go(func() {
			answer, err := at.rounds.put(context.Background(), q)
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
	at.rounds.close()
	_, err := at.rounds.put(context.Background(), 6)
	require.Equal(t, core.Unavailable, core.CodeOf(err))
}

func TestWhoGivesUpBeforeARoundIsTakenIntoNone(t *testing.T) {
	at := newTable(3, 2)
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := at.rounds.put(ctx, 1)
		first <- err
	}()
	<-at.begun
	waiting, giveUp := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() {
		_, err := at.rounds.put(waiting, 2)
		second <- err
	}()
	at.queued(t, 1)
	giveUp()
	require.Equal(t, core.Unavailable, core.CodeOf(<-second), "nothing came of it, and it says so")
	cancel()
	require.ErrorIs(t, <-first, context.Canceled, "what came of the one that was taken is not known")
	third := make(chan error, 1)
	go func() {
		_, err := at.rounds.put(context.Background(), 3)
		third <- err
	}()
	at.queued(t, 2)
	_, err := at.rounds.put(context.Background(), 4)
	require.Equal(t, core.Unavailable, core.CodeOf(err), "the queue is bounded")
	at.letGo <- struct{}{}
	require.Equal(t, []int{3}, <-at.begun)
	at.letGo <- struct{}{}
	require.NoError(t, <-third)
	at.rounds.close()
}

func TestAPanicFailsItsRoundAlone(t *testing.T) {
	r := rounds[int, int]{beside: 1, size: 1, waiting: 9, ask: func(_ context.Context, questions []int) []verdict[int] {
		if questions[0] == 1 {
			panic("broken")
		}
		return []verdict[int]{{answer: 7}}
	}}
	_, err := r.put(context.Background(), 1)
	require.ErrorContains(t, err, "panic: broken")
	answer, err := r.put(context.Background(), 2)
	require.NoError(t, err)
	require.Equal(t, 7, answer)
	r.close()
}
