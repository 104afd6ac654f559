package main

import (
	"context"
	"fmt"
	"time"
)

// measureOrders posts orders to the built hub, those of one business that nobody
// subscribes to and those of another that are told to one endpoint, and beside
// it to a server that stores each by one INSERT.
func measureOrders(ctx context.Context, b *bench) ([]figure, error) {
	n := pick(b, 20000, 4000)
	o, err := openOrderBench(ctx, b, "orders")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("orders", b.log)
	defer o.close()
	quiet, told, err := o.shops(ctx)
	if err != nil {
		return nil, err
	}
	var intakes, journeys, floors, singles []float64
	for range pick(b, 3, 2) {
		floor, err := o.place(o.floor.orders, n)
		if err != nil {
			return nil, fmt.Errorf("the floor of order intake: %w", err)
		}
		single, err := o.place(o.single.orders, n/4)
		if err != nil {
			return nil, fmt.Errorf("the floor of order intake over one connection: %w", err)
		}
		intake, err := o.place(quiet.orders, n)
		if err != nil {
			return nil, err
		}
		journey, err := o.journey(told, n)
		if err != nil {
			return nil, err
		}
		floors, singles, intakes, journeys = append(floors, floor), append(singles, single), append(intakes, intake), append(journeys, journey)
	}
	rounds := len(floors)
	half := median(intakes) / 2
	steady := int(half * pick(b, 8.0, 3.0))
	from := o.sent
	o.sent += steady
	took, err := atRate(ctx, half, steady, orderConnections, func(i int) error { return quiet.orders.post(orderBody(o.bodies, from+i)) })
	if err != nil {
		return nil, err
	}
	if err := o.stored(ctx, quiet, warmOrders+rounds*n+steady); err != nil {
		return nil, err
	}
	if err := o.stored(ctx, told, warmOrders+rounds*n); err != nil {
		return nil, err
	}
	intake := medianFigure("orders/intake", perSecond, intakes).against(floors)
	grouped := medianFigure("orders/intake grouped", perSecond, intakes).against(singles)
	p99 := figure{Name: "orders/intake p99", Unit: milliseconds, Measured: percentile(took, 99)}
	journey := medianFigure("orders/journey", perSecond, journeys).against(floors)
	return []figure{
		intake.judged(">= 300%", *intake.Ratio >= 3).noted(fmt.Sprintf(
			"%d orders of %d bytes, durable, over %d connections, nobody subscribed; floor: a server that reads the same and does one INSERT, which PostgreSQL commits in groups as well",
			n, len(orderBody(o.bodies, n)), orderConnections)),
		grouped.judged(">= 300%", *grouped.Ratio >= 3).noted("the same; floor: that server over one connection to the database, so that nothing is committed in groups"),
		p99.judged("< 50 ms", p99.Measured < 50).noted(fmt.Sprintf("%d orders at %.0f/s, half of that; median %.2f ms, at most %.1f ms",
			steady, half, percentile(took, 50), percentile(took, 100))),
		journey.judged(">= 70%", *journey.Ratio >= 0.7).noted(fmt.Sprintf("%d orders to one endpoint, first POST to last arrival; floor: as above", n)),
	}, nil
}

// shops makes a business that nobody subscribes to and one whose orders are told
// to the sink. Hub and floor have had their first orders then.
func (o *orderBench) shops(ctx context.Context) (quiet, told shop, err error) {
	if _, err = o.place(o.floor.orders, warmOrders); err != nil {
		return quiet, told, err
	}
	if quiet, err = o.shop(ctx); err != nil {
		return quiet, told, err
	}
	if told, err = o.shop(ctx); err == nil {
		err = o.listen(ctx, told)
	}
	return quiet, told, err
}

// journey posts n orders and tells how many a second had arrived at the end.
func (o *orderBench) journey(s shop, n int) (float64, error) {
	if err := o.sink.reset(0); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := o.place(s.orders, n); err != nil {
		return 0, err
	}
	last, err := o.lastOf(n, 0)
	return float64(n) / last.Sub(began).Seconds(), err
}

// lastOf waits for the deliveries of n orders and so many others, and tells when
// the last of the orders came.
func (o *orderBench) lastOf(n, others int) (time.Time, error) {
	if err := o.sink.await(n+others, time.Minute); err != nil {
		return time.Time{}, err
	}
	came, err := o.sink.arrivals()
	if err != nil {
		return time.Time{}, err
	}
	ids, last := map[string]bool{}, int64(0)
	for _, a := range came {
		if a.Path == "/hook" && !ids[a.ID] {
			ids[a.ID], last = true, max(last, a.At)
		}
	}
	if len(ids) != n {
		return time.Time{}, fmt.Errorf("%d orders reached the endpoint, not %d", len(ids), n)
	}
	return time.Unix(0, last), nil
}
