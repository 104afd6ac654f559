package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

func TestWhatWaitsBehindAnAttemptAsksForNoMoreWorkers(t *testing.T) {
	c := newClinic(t)
	ages := func() (oldest, worst time.Duration) {
		t.Helper()
		backlog, err := c.db.Backlog(context.Background())
		require.NoError(t, err)
		return backlog.OldestDue, backlog.WorstEndpoint
	}
	publishedTo := func(event core.EventType) {
		t.Helper()
		now := c.clock.Now()
		require.NoError(t, c.db.Publish(context.Background(), core.Event{ID: core.NewID(now), Business: c.business, Type: event, At: now, Body: []byte(`{}`)}))
	}
	publishedTo(core.StoreCreation)
	_, slow, _ := c.claim()
	require.Len(t, slow, 1, "the attempt that takes its time")
	publishedTo(core.StoreCreation)
	c.clock.Advance(15 * time.Second)
	oldest, worst := ages()
	require.Zero(t, oldest)
	require.Equal(t, 15*time.Second, worst)

	other := hubtest.Subscribe(t, c.db, c.business, core.OrderPlaced, "https://other.example/", webhook.Minutes)
	publishedTo(core.OrderPlaced)
	c.clock.Advance(2 * time.Second)
	oldest, worst = ages()
	require.Equal(t, 2*time.Second, oldest, "nobody is at it")
	require.Equal(t, 17*time.Second, worst)

	c.clock.Advance(10 * time.Second)
	oldest, worst = ages()
	require.Equal(t, 27*time.Second, oldest, "whoever was at it is gone")
	require.Equal(t, oldest, worst)

	for _, id := range []int64{c.sub.ID, other.ID} {
		require.NoError(t, postgres.Webhooks{DB: c.db}.Change(context.Background(), c.business, "test", id, func(s *webhook.Subscription) error {
			s.Active = false
			return nil
		}))
	}
	oldest, worst = ages()
	require.Zero(t, oldest+worst, "what is held waits for its webhook")
}
