package storetest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

// TestClaimTakesLargeBodiesUpToItsCapacity uses three events with two webhooks each: two large
// compressible ones, then a small one.
func TestClaimTakesLargeBodiesUpToItsCapacity(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	for _, url := range []string{"https://pos.example.com/a", "https://pos.example.com/b"} {
		hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, url)
	}
	large := `{"x":"` + string(bytes.Repeat([]byte("x"), 2*webhook.LargeBody)) + `"}`
	first := publish(t, db, tenant.ID, "", large).ID
	clock.Advance(time.Second)
	second := publish(t, db, tenant.ID, "", large).ID
	small := publish(t, db, tenant.ID, "", `{}`).ID
	store, owner := deliveries.New(db), core.ID{9}
	claim := func(bodies int) (events []core.ID, batch queue.Batch[webhook.Delivery]) {
		t.Helper()
		batch, err := store.Claim(ctx, owner, claimUpTo(512, bodies),
			clock.Now().Add(time.Minute))
		require.NoError(t, err)
		for _, d := range batch.Items {
			events = append(events, d.EventID)
		}
		return events, batch
	}

	events, batch := claim(0)
	require.Equal(t, []core.ID{small, small}, events)
	require.WithinDuration(t, clock.Now().Add(time.Minute), batch.NextDue, time.Millisecond,
		"a body above the capacity is not due for this replica")
	events, batch = claim(1)
	require.Equal(t, []core.ID{first, first}, events, "one body may exceed the capacity, with all its receivers")
	require.Same(t, &batch.Items[0].Body[0], &batch.Items[1].Body[0], "they share it")
	require.Equal(t, large, string(batch.Items[0].Body))
	events, batch = claim(len(large))
	require.Equal(t, []core.ID{second, second}, events)

	results := make([]webhook.Result, 2)
	for i, d := range batch.Items {
		results[i] = webhook.Result{Delivery: d, State: webhook.Failed,
			Attempt: webhook.Attempt{StartedAt: clock.Now(), Status: 500}}
	}
	_, err := store.Finish(ctx, owner, results, webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
	require.NoError(t, err)
	for _, d := range batch.Items {
		require.NoError(t, store.Retry(ctx, tenant.ID, d.ID))
	}
	events, _ = claim(0)
	require.Empty(t, events, "it is as large when it is sent again")
	events, _ = claim(1)
	require.Equal(t, []core.ID{second, second}, events)
}
