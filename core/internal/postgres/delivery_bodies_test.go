package postgres_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// TestAClaimBringsTheLargeBodiesThatThereIsRoomFor has events of one business with
// two webhooks each: two large ones that pack well, and behind them a small one.
func TestAClaimBringsTheLargeBodiesThatThereIsRoomFor(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	for _, url := range []string{"https://pos.example.com/a", "https://pos.example.com/b"} {
		hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, url, webhook.Minutes)
	}
	large := `{"x":"` + string(bytes.Repeat([]byte("x"), 2*webhook.LargeBody)) + `"}`
	first := publish(t, db, tenant.ID, "", large).ID
	clock.Advance(time.Second)
	second := publish(t, db, tenant.ID, "", large).ID
	small := publish(t, db, tenant.ID, "", `{}`).ID
	queue, owner := postgres.Deliveries{DB: db}, core.ID{9}
	claim := func(bodies int) (events []core.ID, batch webhook.Batch) {
		t.Helper()
		batch, err := queue.Claim(ctx, owner, webhook.Room{Deliveries: 512, Bodies: bodies, Busy: []int64{}}, clock.Now().Add(time.Minute))
		require.NoError(t, err)
		for _, d := range batch.Deliveries {
			events = append(events, d.EventID)
		}
		return events, batch
	}

	events, batch := claim(0)
	require.Equal(t, []core.ID{small, small}, events)
	require.WithinDuration(t, clock.Now().Add(time.Minute), batch.NextDue, time.Millisecond, "what has no room is not due for this replica")
	events, batch = claim(1)
	require.Equal(t, []core.ID{first, first}, events, "one goes beyond the bound, to all its receivers")
	require.Same(t, &batch.Deliveries[0].Body[0], &batch.Deliveries[1].Body[0], "they share it")
	require.Equal(t, large, string(batch.Deliveries[0].Body))
	events, batch = claim(len(large))
	require.Equal(t, []core.ID{second, second}, events)

	results := make([]webhook.Result, 2)
	for i, d := range batch.Deliveries {
		results[i] = webhook.Result{Delivery: d, State: webhook.Failed, Attempt: webhook.Attempt{StartedAt: clock.Now(), Status: 500}}
	}
	_, err := queue.Finish(ctx, owner, results, webhook.Probing{After: 20, For: time.Minute})
	require.NoError(t, err)
	for _, d := range batch.Deliveries {
		require.NoError(t, queue.Retry(ctx, tenant.ID, d.ID))
	}
	events, _ = claim(0)
	require.Empty(t, events, "it is as large when it is sent again")
	events, _ = claim(1)
	require.Equal(t, []core.ID{second, second}, events)
}
