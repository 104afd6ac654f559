package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// endpointInFlight is how many attempts the engine makes at one endpoint at once.
const endpointInFlight = 16

// measureDrain has a queue of due deliveries to one endpoint worked off, and
// beside it the same bodies posted to the same sink by the same sender with
// nothing stored.
func measureDrain(ctx context.Context, b *bench) ([]figure, error) {
	n := pick(b, 20000, 5000)
	r, err := openReplica(ctx, b, "drain", webhook.Minutes)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("drain", b.log)
	defer r.close()
	var rates, floors []float64
	done, repeats := 0, 0
	for round := range pick(b, 3, 2) {
		floor, err := r.postOnly(ctx, n)
		if err != nil {
			return nil, err
		}
		floors = append(floors, floor)
		if err := r.publish(ctx, n); err != nil { // nothing delivers yet: all of it waits
			return nil, fmt.Errorf("filling the queue: %w", err)
		}
		var rate float64
		if err := b.profiled(fmt.Sprintf("drain-%d", round), func() (err error) {
			rate, err = r.drain(ctx, b, n)
			return err
		}); err != nil {
			return nil, err
		}
		rates = append(rates, rate)
		came, err := r.sink.byID()
		if err != nil {
			return nil, err
		}
		if len(came) != n {
			return nil, fmt.Errorf("%d deliveries reached the sink, not %d", len(came), n)
		}
		done += n
		repeats += int(r.queue.recorded.Load()) - n
		if err := r.check(ctx, done, done+repeats); err != nil {
			return nil, err
		}
	}
	drain := medianFigure("deliveries/drain", perSecond, rates).against(floors)
	return []figure{drain.judged(">= 25%", *drain.Ratio >= 0.25).
		noted(fmt.Sprintf("%d of 1 KB to one endpoint, all %d attempts recorded (%s in the last round); floor: the sender alone", n, done+repeats, r.queue.cost()))}, nil
}

// drain works the queue off and tells how many a second were delivered and recorded.
func (r *replica) drain(ctx context.Context, b *bench, n int) (float64, error) {
	if err := r.sink.reset(0); err != nil {
		return 0, err
	}
	defer r.halt()
	began := time.Now()
	r.start(b, n)
	if err := r.awaitRecorded(ctx, time.Minute); err != nil {
		return 0, err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// postOnly posts n bodies by the sender alone and tells how many a second.
func (r *replica) postOnly(ctx context.Context, n int) (float64, error) {
	if err := r.sink.reset(0); err != nil {
		return 0, err
	}
	deliveries := make([]webhook.Delivery, n)
	for i := range deliveries {
		event := r.event(i)
		deliveries[i] = webhook.Delivery{
			ID: core.NewID(event.At), Business: event.Business, EventID: event.ID, EventType: event.Type, Body: slices.Clone(event.Body),
			WebhookID: r.receiver.ID, Endpoint: r.receiver.ID, URL: r.receiver.URL, Units: r.receiver.Units, Secret: r.receiver.Secret, DueAt: event.At,
		}
	}
	began := time.Now()
	err := inParallel(n, endpointInFlight, func(i int) error {
		if attempt := r.sender.Post(ctx, deliveries[i]); !attempt.OK() {
			return fmt.Errorf("posting: %s", attempt.Error)
		}
		return nil
	})
	return float64(n) / time.Since(began).Seconds(), err
}
