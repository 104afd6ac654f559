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
	return measureDrains(ctx, b, "drain", pick(b, 20000, 5000), pick(b, 3, 2))
}

// measureBacklog is measureDrain of a long queue, once.
func measureBacklog(ctx context.Context, b *bench) ([]figure, error) {
	return measureDrains(ctx, b, "backlog", pick(b, 60000, 15000), 1)
}

func measureDrains(ctx context.Context, b *bench, name string, n, rounds int) ([]figure, error) {
	r, err := openReplica(ctx, b, name, webhook.Minutes)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop(name, b.log)
	defer r.close()
	var rates, floors []float64
	attempts := 0
	for round := range rounds {
		floor, err := r.postOnly(ctx, n)
		if err != nil {
			return nil, err
		}
		floors = append(floors, floor)
		if err := r.fillQueue(ctx, n); err != nil {
			return nil, err
		}
		var rate float64
		if err := b.profiled(fmt.Sprintf("%s-%d", name, round), func() (err error) {
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
		attempts += int(r.queue.recorded.Load())
		if err := r.check(ctx, n*(round+1), attempts); err != nil {
			return nil, err
		}
	}
	drain := medianFigure("deliveries/"+name, perSecond, rates).against(floors)
	return []figure{drain.judged(">= 25%", *drain.Ratio >= 0.25).
		noted(fmt.Sprintf("%d of 1 KB to one endpoint, all %d attempts recorded (%s in the last round); floor: the sender alone", n, attempts, r.queue.cost()))}, nil
}

// fillQueue stores n events while nothing delivers: all of them wait.
func (r *replica) fillQueue(ctx context.Context, n int) error {
	if err := r.publishTogether(ctx, n, r.event); err != nil {
		return fmt.Errorf("filling the queue: %w", err)
	}
	return nil
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
