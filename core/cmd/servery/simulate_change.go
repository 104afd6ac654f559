package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/plugins/simulator"
)

// cancelLot sets what is drawn for cancellations apart from what baskets draw.
const cancelLot = math.MaxUint64

// cancelSome cancels a share of the orders, each in a state drawn by lot, to which
// the merchant brings it first.
func (s *simulation) cancelSome(ctx context.Context, orders []placedOrder, share float64) {
	lot := rand.New(rand.NewPCG(s.Seed, cancelLot))
	chosen := lot.Perm(len(orders))[:int(math.Ceil(share*float64(len(orders))))]
	states := []order.State{order.Placed, order.Acknowledged, order.FoodReady, order.Dispatched}
	drawn := make([]order.State, len(chosen))
	for i := range chosen {
		drawn[i] = states[lot.IntN(len(states))]
	}
	now := time.Now()
	s.each(ctx, len(chosen), changedAtOnce, func(i int) {
		if drawn[i] != order.Placed {
			s.bring(ctx, orders[chosen[i]], drawn[i])
		}
		s.cancel(ctx, orders[chosen[i]])
	}, func(int) time.Time { return now })
}

// changedAtOnce is how many orders are cancelled or edited at a time.
const changedAtOnce = 16

// bring brings an order to a state, as the merchant. One that is further already,
// by a POS that is quicker, stays there.
func (s *simulation) bring(ctx context.Context, o placedOrder, state order.State) {
	status, message, took := s.call(ctx, "", http.MethodPut, fmt.Sprintf("%s/external/api/v1/orders/%d/status/", s.BaseURL, o.OrderID), s.pos,
		map[string]any{"new_status": state}, nil)
	if status == http.StatusConflict {
		status = http.StatusOK
	}
	s.report.called("status", status, took)
	s.report.complain("status", status, message)
}

// editAll lets the customer of each order change it. No channel has a word for
// that. The order anew, under its id, is known to the hub, which says so and keeps
// the first; so the first is cancelled and the changed one placed under another id.
func (s *simulation) editAll(ctx context.Context, orders []placedOrder) {
	now := time.Now()
	s.each(ctx, len(orders), changedAtOnce, func(i int) {
		o := orders[i]
		edited := o.basket.Edited()
		again := s.send(ctx, "edit", o.Platform, edited)
		s.report.placed(again)
		if again.OrderID != 0 && again.OrderID != o.OrderID {
			s.report.complain("edit", 0, fmt.Sprintf("the order %s of %s became the orders %d and %d", o.PlatformOrderID, o.Platform, o.OrderID, again.OrderID))
		}
		s.cancel(ctx, o)
		edited.Number = simulator.EditedNumber(edited.Number)
		changed := s.send(ctx, "order", o.Platform, edited)
		s.report.placed(changed)
		s.report.accepted(changed.OrderID)
	}, func(int) time.Time { return now })
}
