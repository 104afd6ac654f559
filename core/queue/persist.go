package queue

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// gatherPause is how long values are gathered after a batch of several. A batch of 30 costs little more than one of 10.
const gatherPause = 2 * time.Millisecond

// batches yields the pending values of a channel in batches of at most limit, until the channel is closed. While values
// arrive together, and gather returns true, it gathers them for a moment.
func batches[T any](from <-chan T, limit int, gather func() bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		last := 0
		for first := range from {
			if 1 < last && last < limit && gather() {
				time.Sleep(gatherPause)
			}
			batch := append(make([]T, 0, min(limit, 64)), first)
			for open := true; open && len(batch) < limit; {
				var next T
				select {
				case next, open = <-from:
					if open {
						batch = append(batch, next)
					}
				default:
					open = false
				}
			}
			last = len(batch)
			if !yield(batch) {
				return
			}
		}
	}
}

// Bounds of persist: the time of one call, and the pauses between calls.
const (
	callTimeout = 10 * time.Second
	firstPause  = 50 * time.Millisecond
	maxPause    = 2 * time.Second
)

// retryUntil calls try until it succeeds, with pauses that double. It stops when the context ends or the time is past
// until. A running call is not cut off by the context. The channel that soon returns ends a pause when it is closed.
func retryUntil(ctx context.Context, clock core.Clock, until time.Time, soon func() <-chan struct{},
	try func(context.Context) error) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		ended := soon()
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		err := try(attempt)
		cancel()
		if err == nil {
			return
		}
		sleep(ctx, clock, clock.Now().Add(pause), ended)
		if ctx.Err() != nil || clock.Now().After(until) {
			return
		}
	}
}

// sleep returns at the given time, when the context ends, or when the channel is closed.
func sleep(ctx context.Context, clock core.Clock, until time.Time, ended <-chan struct{}) {
	timer, stop := clock.At(until)
	defer stop()
	select {
	case <-ctx.Done():
	case <-ended:
	case <-timer:
	}
}

// drain waits for the running work to end. After the given time it calls cutOff and continues to wait. It measures
// real time, because a process stops in real time even if a test moves the clock.
func drain(running *sync.WaitGroup, within time.Duration, cutOff func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		running.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(within):
		cutOff()
		<-ended
	}
}
