package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core/internal/clocktest"
)

func TestBatchesAreBoundedAndKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOf(rapid.Int()).Draw(t, "sent")
		limit := rapid.IntRange(1, 9).Draw(t, "limit")
		from := make(chan int, rapid.IntRange(0, 9).Draw(t, "buffer"))
		go func() {
			defer close(from)
			for _, n := range sent {
				from <- n
			}
		}()
		var got []int
		for batch := range batches(from, limit, never) {
			assert.NotEmpty(t, batch)
			assert.LessOrEqual(t, len(batch), limit)
			got = append(got, batch...)
		}
		assert.Equal(t, sent, append([]int{}, got...))
	})
}

func never() bool { return false }

func TestValuesThatArriveTogetherAreGathered(t *testing.T) {
	for name, c := range map[string]struct {
		gather bool
		want   []int
	}{"gathering": {true, []int{2, 2}}, "not gathering": {false, []int{2, 1, 1}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := make(chan int, 4)
				from <- 1
				from <- 2
				go func() {
					defer close(from)
					for n := range 2 {
						<-time.After(time.Millisecond)
						from <- n
					}
				}()
				var sizes []int
				for batch := range batches(from, 9, func() bool { return c.gather }) {
					sizes = append(sizes, len(batch))
				}
				require.Equal(t, c.want, sizes)
			})
		})
	}
}

func TestRetryUntilStopsAtSuccessOrDeadline(t *testing.T) {
	away := errors.New("the database is unavailable")
	for _, c := range []struct {
		name    string
		succeed int           // in which attempt; 0: never
		cutOff  int           // in which attempt
		within  time.Duration // until the deadline
		tries   int
	}{
		{name: "at once", succeed: 1, within: time.Hour, tries: 1},
		{name: "at last", succeed: 9, within: time.Hour, tries: 9},
		{name: "no more time", within: time.Second, tries: 5},
		{name: "cut off", cutOff: 3, within: time.Hour, tries: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := clocktest.New()
			ctx, cutOff := context.WithCancel(t.Context())
			tries := 0
			never := func() <-chan struct{} { return nil }
			retryUntil(ctx, leaping{clock}, clock.Now().Add(c.within), never, func(try context.Context) error {
				if tries++; tries == c.succeed {
					return nil
				}
				if tries == c.cutOff {
					cutOff()
					assert.NoError(t, try.Err(), "a running call is not cut off")
				}
				return away
			})
			assert.Equal(t, c.tries, tries)
			cutOff()
		})
	}
}

// leaping is a clock that advances at once to each time that is waited for.
type leaping struct{ *clocktest.Clock }

func (c leaping) At(t time.Time) (<-chan time.Time, func()) {
	c.Advance(t.Sub(c.Now()))
	return c.Clock.At(t)
}

func TestDrainCutsOffAfterItsDeadline(t *testing.T) {
	var running sync.WaitGroup
	running.Go(func() {})
	drain(&running, time.Minute, func() { t.Error("it exited") })

	cut := make(chan struct{})
	running.Go(func() { <-cut })
	drain(&running, time.Nanosecond, func() { close(cut) })
}
