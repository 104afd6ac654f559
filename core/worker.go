package core

import (
	"context"
	"iter"
	"sync"
	"time"
)

// What the engines that work a queue of the database share: they look at it when
// they are told to, at a due time or now and then, record what came of the work in
// batches, again and again while the database is away, and end in order.

// Bell wakes the one goroutine that waits for it. Rings before it waits count as one.
type Bell chan struct{}

// NewBell makes a bell.
func NewBell() Bell { return make(Bell, 1) }

// Wake rings. It never blocks.
func (b Bell) Wake() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Wait returns when the bell rings, when the time has come, or when the context ends.
func (b Bell) Wait(ctx context.Context, clock Clock, until time.Time) {
	timer, giveUp := clock.At(until)
	defer giveUp()
	select {
	case <-ctx.Done():
	case <-b:
	case <-timer:
	}
}

// Pause returns when the time has come, or when the context ends.
func Pause(ctx context.Context, clock Clock, until time.Time) { Bell(nil).Wait(ctx, clock, until) }

// Batches yields what comes, as much at once as there is, at most so many, until
// the channel is closed.
func Batches[T any](from <-chan T, most int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for first := range from {
			batch := append(make([]T, 0, 64), first)
			for open := true; open && len(batch) < most; {
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
			if !yield(batch) {
				return
			}
		}
	}
}

// Persist tries until it succeeds, at most 10 s each time and with pauses of up to
// 2 s. It gives up when the context ends or the time is over.
func Persist(ctx context.Context, clock Clock, until time.Time, try func(context.Context) error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		err := try(attempt)
		cancel()
		if err == nil {
			return
		}
		Pause(ctx, clock, clock.Now().Add(pause))
		if ctx.Err() != nil || clock.Now().After(until) {
			return
		}
	}
}

// Drain waits until what runs has ended; where that takes longer than the given
// time, it cuts it off, and waits on.
func Drain(running *sync.WaitGroup, within time.Duration, cutOff func()) {
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
