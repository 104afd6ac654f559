package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	deliveriesdb "github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// failOrders publishes an event for an order of each state, and one for no stored order, and records that their
// deliveries failed.
func (c *deliveryHarness) failOrders(event core.EventType) {
	c.t.Helper()
	hubtest.Subscribe(c.t, c.db, c.business, event, "https://pos.example/orders")
	now := c.clock.Now()
	for i, state := range append(order.States(), "") {
		e := core.Event{ID: core.NewID(now), Business: c.business, Type: event, At: now, Body: []byte(`{}`),
			OrderID: int64(i + 1), Sequence: 1}
		require.NoError(c.t, outbox.NewPublisher(c.db).Publish(c.t.Context(), e))
		if state != "" {
			pgtest.Exec(c.t, c.db, `INSERT INTO orders (business_id, id, platform, platform_order_id, store_id, state,
				is_bulk_order, delivery_type, flags, events, placed_event, placed_by, created_at, updated_at)
				VALUES (?0, ?1, 'a', 'A-' || ?1, 1, ?2, false, 'self', 0, 1, ?3, 'pos', ?4, ?4)
				ON CONFLICT DO NOTHING`, c.business, e.OrderID, state, e.ID, now)
		}
	}
	owner, claimed, _ := c.claim()
	require.Len(c.t, claimed, len(order.States())+1)
	c.endWith(webhook.Failed, webhook.Status, 503, owner, claimed...)
}

func TestSelectionLeavesOutFinalOrders(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failOrders(core.OrderPlaced)
	c.failOrders(core.OrderStatusUpdate)
	c.clock.Advance(time.Millisecond)
	all := webhook.Selector{State: webhook.Failed, To: c.clock.Now(), EndedBy: c.clock.Now()}
	ids, err := c.queue.SelectedIDs(t.Context(), c.business, all)
	require.NoError(t, err)
	for _, choice := range []webhook.Selector{all, webhook.SelectIDs(ids)} {
		for final, n := range map[webhook.FinalOrders]int{webhook.WithFinalOrders: 16, webhook.WithoutFinalOrders: 14,
			webhook.OnlyFinalOrders: 2} {
			choice.FinalOrders = final
			count, err := c.queue.Count(t.Context(), c.business, choice)
			require.NoError(t, err)
			require.Equal(t, n, count, final)
			found, err := c.queue.SelectedIDs(t.Context(), c.business, choice)
			require.NoError(t, err)
			require.Len(t, found, n)
			if choice.IDs == nil {
				upTo, more, err := c.queue.CountUpTo(t.Context(), c.business, choice)
				require.NoError(t, err)
				require.Equal(t, []any{n, false}, []any{upTo, more}, final)
			}
		}
	}
}

func TestBulkResendLeavesOutFinalOrders(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failOrders(core.OrderPlaced)
	job := c.queueBulkResend(webhook.Selector{State: webhook.Failed, FinalOrders: webhook.WithoutFinalOrders})
	require.NoError(t, c.run(job))
	require.JSONEq(t, `{"resent":6,"skipped":0,"left_out":2}`, c.result(job))
	_, again, _ := c.claim()
	require.Len(t, again, 6)
	job = c.queueBulkResend(webhook.Selector{State: webhook.Failed})
	require.NoError(t, c.run(job))
	require.JSONEq(t, `{"resent":2,"skipped":0}`, c.result(job), "as the API does")
}

func TestResendOfAProblemLeavesOutFinalOrders(t *testing.T) {
	c := newDeliveryHarness(t)
	c.failOrders(core.OrderPlaced)
	problem := c.problems(console.ProblemFilter{})[0]
	c.queueResend(problem.ID, webhook.WithoutFinalOrders)
	job := c.lease()
	run := func() error {
		resend := webhook.ProblemResend{Resends: deliveriesdb.NewProblemResends(c.db), Clock: c.clock}
		return resend.Run(t.Context(), job, func(int, int) {})
	}
	require.ErrorAs(t, run(), &core.Snooze{})
	owner, again, _ := c.claim()
	require.Len(t, again, 6)
	c.endWith(webhook.Delivered, "", 200, owner, again...)
	require.NoError(t, run())
	resends, err := consolelists.New(c.db).ProblemResends(t.Context(), c.business, problem.ID)
	require.NoError(t, err)
	require.Equal(t, webhook.ResendOutcome{Selected: 6, Sent: 6, Delivered: 6, LeftOut: 2}, resends[0].Outcome)
	require.Equal(t, 2, c.problems(console.ProblemFilter{})[0].Failed)
}
