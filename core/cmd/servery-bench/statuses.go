package main

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/valyala/fasthttp"
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
