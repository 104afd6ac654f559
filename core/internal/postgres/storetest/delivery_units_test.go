package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestChangedRetryUnitsApplyToPendingDeliveries(t *testing.T) {
	ctx, c := context.Background(), newDeliveryHarness(t)
	fail := func() {
		owner, claimed, _ := c.claim()
		require.Len(t, claimed, 1)
		d := claimed[0]
		wait, _ := d.Units.Schedule().After(d.Attempts + 1)
		_, err := c.queue.Finish(ctx, owner,
			[]webhook.Result{{Delivery: d, State: webhook.Pending, RetryAt: c.clock.Now().Add(wait),
				Attempt: webhook.Attempt{StartedAt: c.clock.Now(), ErrorClass: webhook.Timeout, Error: "no",
					URL: d.URL}}},
			webhook.CircuitRules{FailureThreshold: 100, MinDuration: time.Hour})
		require.NoError(t, err)
	}
	change := func(units webhook.Units) {
		require.NoError(t, webhooksdb.New(c.db).Change(ctx, c.business, "test", c.sub.ID,
			func(s *webhook.Subscription) error {
				s.Units = units
				return nil
			}))
	}
	waits := func(n int) time.Duration {
		var due, available time.Time
		pgtest.Row(t, c.db, &due, `SELECT due_at FROM delivery_queue ORDER BY id LIMIT 1 OFFSET ?`, n)
		pgtest.Row(t, c.db, &available, `SELECT available_at FROM delivery_queue ORDER BY id LIMIT 1 OFFSET ?`, n)
		require.True(t, due.Equal(available), "when it is due it is found")
		return due.Sub(c.clock.Now())
	}
	both := func() []time.Duration { return []time.Duration{waits(0), waits(1)} }

	minutes, seconds := webhook.Minutes.Schedule().Waits(), webhook.Seconds.Schedule().Waits()
	c.publish(1)
	fail()
	c.clock.Advance(minutes[0])
	fail()
	c.publish(1) // a millisecond later
	fail()
	require.Equal(t, []time.Duration{minutes[1] - time.Millisecond, minutes[0]}, both())
	change(webhook.Seconds)
	require.Equal(t, []time.Duration{seconds[1] - time.Millisecond, seconds[0]}, both())
	change(webhook.Minutes)
	require.Equal(t, []time.Duration{minutes[1] - time.Millisecond, minutes[0]}, both())

	c.clock.Advance(minutes[0] - seconds[0])
	change(webhook.Seconds)
	require.Equal(t, []time.Duration{0, 0}, both(), "their seconds are over")
	change(webhook.Minutes)
	require.Equal(t, []time.Duration{0, 0}, both(), "a due delivery is not rescheduled")
	owner, claimed, _ := c.claim()
	require.Len(t, claimed, 2)
	change(webhook.Seconds)
	require.NoError(t, c.queue.Release(ctx, owner, claimed))
	require.Equal(t, []time.Duration{0, 0}, both(), "a running attempt keeps its schedule")
}
