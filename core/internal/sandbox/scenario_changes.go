package sandbox

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

// cancelStream separates the random numbers of cancellations from those of baskets.
const cancelStream = math.MaxUint64

// CancelSome cancels a share of the orders. The merchant first moves each to a random state.
func (s *Scenario) CancelSome(ctx context.Context, orders []PlacedOrder, share float64) {
	rng := rand.New(rand.NewPCG(s.Seed, cancelStream))
	chosen := rng.Perm(len(orders))[:int(math.Ceil(share*float64(len(orders))))]
	states := []order.State{order.Placed, order.Acknowledged, order.FoodReady, order.Dispatched}
	targets := make([]order.State, len(chosen))
	for i := range chosen {
		targets[i] = states[rng.IntN(len(states))]
	}
	now := time.Now()
	s.forEach(ctx, len(chosen), maxConcurrentChanges, func(i int) {
		if targets[i] != order.Placed {
			s.setStatus(ctx, orders[chosen[i]], targets[i])
		}
		s.Cancel(ctx, orders[chosen[i]])
	}, func(int) time.Time { return now })
}

// maxConcurrentChanges bounds concurrent cancellations and edits.
const maxConcurrentChanges = 16

// setStatus moves an order to a state, as the merchant. A later state, which a faster POS may have set, stays.
func (s *Scenario) setStatus(ctx context.Context, o PlacedOrder, state order.State) {
	status, message, took := s.call(ctx, request{method: http.MethodPut,
		url:           fmt.Sprintf("%s/external/api/v1/orders/%d/status/", s.BaseURL, o.OrderID),
		authorization: s.pos, body: map[string]any{"new_status": state}})
	if status == http.StatusConflict {
		status = http.StatusOK
	}
	s.Report.addCall("status", status, took)
	s.Report.addError("status", status, message)
}

// Edit changes each order as its customer. No channel supports that directly. The hub recognises an order with the
// same id and keeps the first. So the first is cancelled, and the changed one is placed under another id.
func (s *Scenario) Edit(ctx context.Context, orders []PlacedOrder) {
	now := time.Now()
	s.forEach(ctx, len(orders), maxConcurrentChanges, func(i int) {
		o := orders[i]
		edited := o.basket.Edited()
		repeated := s.send(ctx, "edit", o.Platform, edited)
		s.Report.addOrder(repeated)
		if repeated.OrderID != 0 && repeated.OrderID != o.OrderID {
			s.Report.addError("edit", 0,
				fmt.Sprintf("the order %s of %s became the orders %d and %d", o.PlatformOrderID, o.Platform, o.OrderID,
					repeated.OrderID))
		}
		s.Cancel(ctx, o)
		edited.Number = simulator.EditedNumber(edited.Number)
		changed := s.send(ctx, "order", o.Platform, edited)
		s.Report.addOrder(changed)
		s.Report.addAccepted(changed.OrderID)
	}, func(int) time.Time { return now })
}
