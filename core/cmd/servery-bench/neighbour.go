package main

import (
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// inTime is how long after its commit an event may arrive beside an endpoint
// that hangs and still be called in time.
const inTime = time.Second

// measureNeighbour publishes to an endpoint that answers, first alone and then
// beside one that takes every request and never answers, and tells how long
// after its commit each event arrived at the one that does.
func measureNeighbour(ctx context.Context, b *bench) ([]figure, error) {
	r, err := openReplica(ctx, b, "neighbour", webhook.Seconds)
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("neighbour", b.log)
	defer r.close()
	if _, err := subscribe(ctx, r.db, r.business, core.OrderStatusUpdate, r.sink.at("", hangPath), webhook.Seconds); err != nil {
		return nil, err
	}
	var alone, beside []float64
	hung := 0
	for range pick(b, 2, 1) {
		if err := r.steadyPart(ctx, b, pick(b, 12, 4), false, &alone); err != nil {
			return nil, fmt.Errorf("alone: %w", err)
		}
		if err := r.steadyPart(ctx, b, pick(b, 15, 7), true, &beside); err != nil {
			return nil, fmt.Errorf("beside one that hangs: %w", err)
		}
		n, err := r.sink.hung()
		if err != nil {
			return nil, err
		}
		hung += n
		if err := r.forgetQueue(ctx); err != nil {
			return nil, err
		}
	}
	late := 0
	for _, after := range beside {
		if after > inMilliseconds(inTime) {
			late++
		}
	}
	p99 := medianFigure("deliveries/neighbour p99", milliseconds, []float64{percentile(beside, 99)}).against([]float64{percentile(alone, 99)})
	return []figure{p99.judged("<= 2x, none late", *p99.Ratio <= 2 && late == 0).noted(fmt.Sprintf(
		"%d events at %d/s, commit to arrival, beside as many to an endpoint that left %d attempts hanging; %d took over %v, median %.2f ms, at most %.1f ms; floor: alone",
		len(beside), eventsPerSecond, hung, late, inTime, percentile(beside, 50), percentile(beside, 100)))}, nil
}

// steadyPart publishes for so many seconds to the endpoint that answers, and
// as often to the one that hangs where that is wanted, and adds how many
// milliseconds after its commit each event came. A second before is not counted.
func (r *replica) steadyPart(ctx context.Context, b *bench, seconds int, hanging bool, after *[]float64) error {
	if err := r.sink.reset(0); err != nil {
		return err
	}
	kinds := []core.EventType{core.OrderPlaced}
	if hanging {
		kinds = append(kinds, core.OrderStatusUpdate)
	}
	warm, n := eventsPerSecond*len(kinds), eventsPerSecond*len(kinds)*(seconds+1)
	r.start(b, n)
	defer r.halt()
	ids, returned := make([]string, n), make([]time.Time, n)
	if err := steadily(ctx, eventsPerSecond*len(kinds), n, func(i int) error {
		event := r.event(i)
		event.Type, ids[i] = kinds[i%len(kinds)], event.ID.String()
		err := r.db.Publish(ctx, event)
		returned[i] = time.Now()
		return err
	}); err != nil {
		return err
	}
	if err := r.sink.await(n/len(kinds), 10*time.Second); err != nil {
		return err
	}
	came, err := r.sink.byID()
	if err != nil {
		return err
	}
	for i := warm; i < n; i += len(kinds) {
		*after = append(*after, inMilliseconds(time.Unix(0, came[ids[i]][0].At).Sub(returned[i])))
	}
	return nil
}

// forgetQueue takes out what is still to be delivered, and what is known of
// endpoints that fail: the next round begins as the first did.
func (r *replica) forgetQueue(ctx context.Context) error {
	_, err := r.floor.bun.ExecContext(ctx, `DELETE FROM delivery_queue; DELETE FROM unwell_endpoints`)
	return err
}
