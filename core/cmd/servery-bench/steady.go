package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// ordersPerSecond is the rate of orders of a busy merchant, at which the hub mostly rests.
const ordersPerSecond = 50

// measureSteady posts orders at an even rate to the floor and to the hub alternately.
func measureSteady(r *run) {
	n, f := ordersPerSecond*pick(r.Quick, 10, 5), r.openHub()
	floor, s := f.startIntakeFloor(connections), f.shop().listen()
	s.place(floor, warmOrders)
	s.place(s.orders, warmOrders)
	var floors, took, arrived []float64
	processor, orders := 0.0, 0
	for range pick(r.Quick, 5, 3) {
		floors = append(floors, s.steady(floor, n, nil)...)
		s.sink.reset(0)
		starts, before := map[string]time.Time{}, f.processorOf(s.orders)
		took = append(took, s.steady(s.orders, n, starts)...)
		f.sink.await("/hook", n, 10*time.Second)
		processor, orders = processor+f.processorOf(s.orders)-before, orders+n
		arrived = append(arrived, s.sinceStart(starts)...)
	}
	flood := pick(r.Quick, 10000, 4000)
	each := func(seconds float64, n int) float64 { return seconds * 1e6 / float64(n) }
	cost := func(of *poster, place func()) float64 {
		before := f.processorOf(of)
		place()
		return each(f.processorOf(of)-before, flood)
	}
	flooded := inTurn(pick(r.Quick, 3, 2), func() float64 { return cost(floor, func() { s.place(floor, flood) }) },
		func() float64 { return cost(s.orders, func() { s.journey(flood) }) })
	post, arrival := figures.Median(took), figures.Median(arrived)
	r.add("orders/steady median", post).Against([]float64{figures.Median(floors)}).Noted(orders, ordersPerSecond)
	r.add("orders/steady p99", figures.Percentile(took, 99)).Against([]float64{figures.Percentile(floors, 99)})
	r.add("orders/steady arrival", arrival-post).Noted(arrival, figures.Percentile(arrived, 99))
	r.add("orders/processor", flooded[1]...).Against(flooded[0]).
		Noted(flood, connections, ordersPerSecond, each(processor, orders))
}

// steady posts orders at an even rate, and returns the milliseconds until each response. It adds when each was sent.
func (s *shop) steady(to *poster, n int, starts map[string]time.Time) []float64 {
	first := s.fixture.orders
	body := s.next(n)
	sentAt, took := make([]time.Time, n), make([]float64, n)
	s.atRate(ordersPerSecond, n, func(i int) {
		content := body(i)
		sentAt[i] = time.Now()
		to.post(content)
		took[i] = inMilliseconds(time.Since(sentAt[i]))
	})
	for i, at := range sentAt {
		if starts != nil {
			starts[fmt.Sprintf("W-%d", first+i)] = at
		}
	}
	return took
}

// sinceStart returns the milliseconds from the start of each order until its event arrived.
func (s *shop) sinceStart(starts map[string]time.Time) (took []float64) {
	rows := must(s.sql.QueryContext(s.ctx,
		`SELECT placed_event::text, platform_order_id FROM orders WHERE business_id = ?`, s.ID))
	defer rows.Close()
	arrived := byID(s.sink.arrivals("/hook"))
	for rows.Next() {
		var event, order string
		check(rows.Scan(&event, &order))
		if at, known := starts[order]; known {
			verify(arrived[event] != nil, "order %s did not arrive", order)
			took = append(took, inMilliseconds(arrived[event][0].At.Sub(at)))
		}
	}
	check(rows.Err())
	verify(len(took) == len(starts), "%d of %d orders were found", len(took), len(starts))
	return took
}

// processorOf is the processor time, in seconds, of a server of orders and of the database.
func (f *fixture) processorOf(to *poster) (total float64) {
	ours := hubtest.ProcessesIn(f.server.Cluster())
	for _, process := range must(procfs.AllProcs()) {
		stat, err := process.Stat()
		if err != nil {
			continue // it has ended
		}
		if _, database := ours[process.PID]; database || process.PID == to.server {
			total += stat.CPUTime()
		}
	}
	return total
}
