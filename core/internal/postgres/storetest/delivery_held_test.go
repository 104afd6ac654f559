package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

func TestHeldDeliveriesAreDeletedWithTheirEvents(t *testing.T) {
	c := newDeliveryHarness(t)
	c.publish(3)
	require.NoError(t, webhooksdb.New(c.db).Change(t.Context(), c.business, "test", c.sub.ID,
		func(s *webhook.Subscription) error {
			s.Active = false
			return nil
		}))
	_, none, _ := c.claim()
	require.Empty(t, none)
	pgtest.Exec(t, c.db, `DELETE FROM events WHERE id <> (SELECT max(id::text)::uuid FROM events)`)
	held := func() (n int) {
		pgtest.Row(t, c.db, &n, `SELECT count(*) FROM delivery_queue`)
		return n
	}
	require.NoError(t, c.queue.DropHeld(t.Context(), month))
	require.Equal(t, 3, held(), "they are not past the retention")
	c.clock.Advance(month + time.Hour)
	require.NoError(t, c.queue.DropHeld(t.Context(), month))
	require.Equal(t, 1, held(), "the last still has its event")
}
