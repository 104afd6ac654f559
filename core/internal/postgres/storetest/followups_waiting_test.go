package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/followups"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

// brokenRiders fails to store a status.
type brokenRiders struct {
	*orders.Riders
	fails order.RiderStatus
}

var errBroken = errors.New("the status cannot be stored")

func (b brokenRiders) Update(ctx context.Context, update order.RiderUpdate) (bool, error) {
	if update.Status == b.fails {
		return false, errBroken
	}
	return b.Riders.Update(ctx, update)
}

func (b brokenRiders) UpdateIn(ctx context.Context, tx bun.Conn, box *outbox.Outbox,
	update order.RiderUpdate) (bool, error) {
	if update.Status == b.fails {
		return false, errBroken
	}
	return b.Riders.UpdateIn(ctx, tx, box, update)
}

// late reports statuses of an order, two of each rider, places it, and returns its id. The reports wait.
func (h *followUpHarness) late(ref string, statuses ...order.RiderStatus) int64 {
	h.t.Helper()
	for i, status := range statuses {
		_, err := h.report(ref, status, order.Rider{Name: fmt.Sprint("R", i/2)})
		require.NoError(h.t, err)
	}
	receipts, failures := pgtest.PlaceBatch(context.Background(), newIntake(h.t, h.db), // which applies nothing
		h.arrival(ref, "b", oneCurry, partnerDelivery))
	require.NoError(h.t, failures[0])
	return receipts[0].OrderID
}

func TestFollowUpsAfterAFailedOneStillWait(t *testing.T) {
	h := newFollowUpHarness(t)
	first := h.late("W-1", order.Assigned, order.AtStore)
	second := h.late("W-2", order.AtStore)
	broken := followups.New(h.db, brokenRiders{h.riders, order.Assigned})
	require.ErrorIs(t, broken.Sweep(t.Context()), errBroken)
	require.Empty(t, h.history(first))
	require.Equal(t, 2, h.waiting())
	require.Equal(t, []order.RiderStatus{order.AtStore}, h.history(second), "of another order")
	_, err := broken.Apply(t.Context(), h.business, order.FollowUp{Platform: "b", PlatformOrderID: "W-1",
		Courier: &order.CourierReport{Status: order.Delivered}})
	require.ErrorIs(t, err, errBroken)
	require.Empty(t, h.history(first))
	require.NoError(t, h.store.Sweep(t.Context()))
	require.Equal(t, []order.RiderStatus{order.Assigned, order.AtStore}, h.history(first))
	require.Zero(t, h.waiting())
}

func TestWaitingFollowUpsAreAppliedOnceInOrder(t *testing.T) {
	h := newFollowUpHarness(t)
	var statuses []order.RiderStatus
	for range 10 {
		statuses = append(statuses, order.Assigned, order.Unassigned)
	}
	id := h.late("W-1", statuses...)
	failures := make([]error, 4)
	var all sync.WaitGroup
	for i := range failures {
		all.Go(func() { failures[i] = h.store.Sweep(context.Background()) })
	}
	all.Wait()
	require.NoError(t, errors.Join(failures...))
	require.Equal(t, statuses, h.history(id))
	require.Zero(t, h.waiting())
	require.Len(t, pgtest.EventBodies(t, h.db, core.RiderStatusUpdate), len(statuses))
}
