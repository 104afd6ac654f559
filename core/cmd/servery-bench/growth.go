package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
)

// storeSizes are how many stores the requests hold whose cost is compared; the
// cost of one store in the last is held against that in storeSizes[baseStores].
var storeSizes = []int{50, 200, 800, 2000, mostStores}

const baseStores = 2

// measureStoreGrowth posts ever larger requests of stores to fresh businesses
// and tells what one store costs in each.
func measureStoreGrowth(ctx context.Context, b *bench) ([]figure, error) {
	s, err := openStoreBench(ctx, b, "storegrowth")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("storegrowth", b.log)
	defer s.close()
	bodies, single := make([][]byte, len(storeSizes)), make([][]float64, len(storeSizes))
	for i, n := range storeSizes {
		if bodies[i], _, err = storeRequest(b.Stores, n); err != nil {
			return nil, err
		}
	}
	for round := range 1 + pick(b, 7, 3) { // the first warms hub and database
		for i, n := range storeSizes {
			who, err := s.business(ctx)
			if err != nil {
				return nil, err
			}
			took, err := s.post(ctx, who, bodies[i], n, 0)
			if err != nil {
				return nil, fmt.Errorf("a request of %d stores: %w", n, err)
			}
			if round > 0 {
				single[i] = append(single[i], 1000*inMilliseconds(took.job)/float64(n))
			}
		}
	}
	figures := make([]figure, len(storeSizes))
	for i, n := range storeSizes {
		figures[i] = medianFigure(fmt.Sprintf("stores/growth %d", n), microseconds, single[i]).at(n).noted("a store, answer to the callback at the sink")
	}
	last := len(figures) - 1
	figures[last] = figures[last].against(single[baseStores])
	figures[last] = figures[last].judged("<= 1.5x", *figures[last].Ratio <= 1.5)
	figures[last].Note += fmt.Sprintf("; floor: stores/growth %d", storeSizes[baseStores])
	return figures, nil
}

// endpointCounts are over how many endpoints the same deliveries are spread.
var endpointCounts = []int{1, 10, 100, 1000}

// measureEndpointGrowth works off the same number of deliveries to ever more endpoints.
func measureEndpointGrowth(ctx context.Context, b *bench) ([]figure, error) {
	c, err := openCrowd(ctx, b, "endpointgrowth")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("endpointgrowth", b.log)
	defer c.close()
	n, rates := pick(b, 10000, 3000), make([][]float64, len(endpointCounts))
	for round := range 1 + pick(b, 3, 1) { // the first warms
		for i, endpoints := range endpointCounts {
			members := c.members[:endpoints]
			if err := c.publishTogether(ctx, n, func(i int) core.Event {
				event, to := c.event(i), members[i%len(members)].subscription
				event.Business, event.Type = to.Business, to.EventType
				return event
			}); err != nil {
				return nil, fmt.Errorf("filling the queue: %w", err)
			}
			rate, err := c.drain(ctx, b, n)
			if err != nil {
				return nil, fmt.Errorf("%d endpoints: %w", endpoints, err)
			}
			if round > 0 {
				rates[i] = append(rates[i], rate)
			}
		}
	}
	figures := make([]figure, len(endpointCounts))
	for i, endpoints := range endpointCounts {
		figures[i] = medianFigure(fmt.Sprintf("deliveries/endpoints %d", endpoints), perSecond, rates[i]).at(endpoints).
			noted(fmt.Sprintf("%d due, delivered and recorded", n))
	}
	last := len(figures) - 1
	figures[last] = figures[last].against(rates[0])
	return figures, nil
}
