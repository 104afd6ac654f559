package main

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/figures"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/order"
)

// measureStatuses moves the orders of a business without webhooks through their states, and those of one with a
// webhook.
func measureStatuses(r *run) {
	n, f := pick(r.Quick, 3000, 800), r.openHub()
	floor, quiet, loud := f.startIntakeFloor(connections), f.shop(), f.shop()
	hubtest.Subscribe(f, f.db, loud.ID, core.OrderStatusUpdate, f.sink.url)
	changes := n * len(statuses())
	values := inTurn(pick(r.Quick, 4, 2), func() float64 {
		quiet.place(floor, n)
		return floor.changeStates(f.newest("floor_orders", 1, n), "")
	}, func() float64 {
		quiet.place(quiet.orders, n)
		return quiet.changeStates(n)
	}, func() float64 {
		loud.place(loud.orders, n)
		loud.sink.reset(0)
		began := time.Now()
		loud.changeStates(n)
		return rate(loud.sink.awaitEach(changes, time.Minute), began)
	})
	f.verifyCount(2*changes*len(values[0]), `SELECT count(*) FROM order_states`)
	f.verifyCount(0, `SELECT count(*) FROM orders WHERE state <> 'Completed' AND events > 1`)
	r.add("orders/statuses", values[1]...).Against(values[0]).Noted(changes, n, connections)
	r.add("orders/statuses delivered", values[2]...).Against(values[0]).Noted(changes)
}

// statuses are the states through which an order passes.
func statuses() []order.State {
	return []order.State{order.Acknowledged, order.FoodReady, order.Dispatched, order.Completed}
}

// newest returns the ids of the newest orders of a business.
func (f *fixture) newest(table string, business core.BusinessID, n int) (ids []int64) {
	check(f.sql.NewRaw(`SELECT id FROM `+table+` WHERE business_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
		business, n).Scan(f.ctx, &ids))
	return ids
}

// changeStates moves the newest orders of the shop through their states, and returns how many changes a second were
// accepted.
func (s *shop) changeStates(n int) float64 {
	hub := s.newPoster(s.hub.URL+"/external/api/v1/orders/", s.Authorization)
	return hub.changeStates(s.newest("orders", s.ID, n), "/status/")
}

// changeStates moves orders through their states, all to one before the next.
func (p *poster) changeStates(orders []int64, suffix string) float64 {
	return throughput(len(orders)*len(statuses()), connections, func(i int) {
		check(p.send(fasthttp.MethodPut, fmt.Sprint(orders[i%len(orders)], suffix),
			fmt.Appendf(nil, `{"new_status":%q}`, statuses()[i/len(orders)])))
	})
}

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
		floors = append(floors, responseTimes(s.steady(floor, n))...)
		s.sink.reset(0)
		before := f.processorOf(s.orders)
		all := s.steady(s.orders, n)
		f.sink.await("/hook", n, 10*time.Second)
		processor, orders = processor+f.processorOf(s.orders)-before, orders+n
		took = append(took, responseTimes(all)...)
		whole, _ := latencies(all, s.arrivals())
		arrived = append(arrived, whole...)
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

// steady posts orders at an even rate.
func (s *shop) steady(to *poster, n int) []sent {
	first := s.fixture.orders
	body := s.next(n)
	return s.sendAtRate(ordersPerSecond, n, func(i int) string {
		to.post(body(i))
		return fmt.Sprintf("W-%d", first+i)
	})
}

// responseTimes are the milliseconds from each beginning to the response.
func responseTimes(all []sent) (took []float64) {
	for _, one := range all {
		took = append(took, inMilliseconds(one.returned.Sub(one.began)))
	}
	return took
}

// arrivals returns those of the shop's orders, by their platform_order_id.
func (s *shop) arrivals() map[string][]Arrival {
	var placed []struct{ PlacedEvent, PlatformOrderID string }
	check(s.sql.NewRaw(`SELECT placed_event::text, platform_order_id FROM orders WHERE business_id = ?`, s.ID).
		Scan(s.ctx, &placed))
	byEvent, byOrder := byID(s.sink.arrivals("/hook")), map[string][]Arrival{}
	for _, order := range placed {
		byOrder[order.PlatformOrderID] = byEvent[order.PlacedEvent]
	}
	return byOrder
}

// processorOf is the processor time, in seconds, of a server of orders and of the database.
func (f *fixture) processorOf(to *poster) (total float64) {
	ours := hubtest.ProcessesIn(f.server.Cluster())
	ours[to.server] = ""
	for pid := range ours {
		if process, err := procfs.NewProc(pid); err == nil { // it has not ended
			if stat, err := process.Stat(); err == nil {
				total += stat.CPUTime()
			}
		}
	}
	return total
}
