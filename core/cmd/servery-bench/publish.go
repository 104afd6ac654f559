package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/webhook"
)

// measurePublish stores events one by one from many goroutines while they are
// delivered, and beside it rows of the same size, a transaction each.
func measurePublish(ctx context.Context, b *bench) ([]figure, error) {
	n := pick(b, 10000, 3000)
	r, err := openReplica(ctx, b, "publish", webhook.Minutes)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("publish", b.log)
	defer r.close()
	var rates, floors []float64
	done := 0
	for round := range pick(b, 3, 2) {
		floor, err := r.floor.insertFloor(ctx, n, publishers)
		if err != nil {
			return nil, fmt.Errorf("the floor of publishing: %w", err)
		}
		var rate float64
		if err := b.profiled(fmt.Sprintf("publish-%d", round), func() (err error) {
			rate, err = r.publishAndDeliver(ctx, b, n)
			return err
		}); err != nil {
			return nil, err
		}
		rates, floors, done = append(rates, rate), append(floors, floor), done+n
		if err := r.check(ctx, done, done); err != nil {
			return nil, err
		}
	}
	return []figure{medianFigure("deliveries/publish", perSecond, rates).against(floors).
		noted(fmt.Sprintf("%d events from %d goroutines, first publish to last arrival; floor: one INSERT a transaction", n, publishers))}, nil
}

// publishAndDeliver tells how many events a second were stored and arrived.
func (r *replica) publishAndDeliver(ctx context.Context, b *bench, n int) (float64, error) {
	if err := r.sink.reset(0); err != nil {
		return 0, err
	}
	r.start(b, n)
	defer r.halt()
	began := time.Now()
	if err := r.publish(ctx, n); err != nil {
		return 0, err
	}
	if err := r.sink.await(n, 30*time.Second); err != nil {
		return 0, err
	}
	came, err := r.sink.arrivals()
	if err != nil {
		return 0, err
	}
	last := began
	for _, a := range came {
		if at := time.Unix(0, a.At); at.After(last) {
			last = at
		}
	}
	return float64(n) / last.Sub(began).Seconds(), r.awaitRecorded(ctx, 10*time.Second)
}
