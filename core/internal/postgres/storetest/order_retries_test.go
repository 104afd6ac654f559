package storetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	deliveriesdb "github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

// TestOrderRetryResumesAfterACrash breaks the connection before each statement of an order
// retry. Each order must be resent once, and the counts must be right.
func TestOrderRetryResumesAfterACrash(t *testing.T) {
	ctx := context.Background()
	url := hubtest.DatabaseURL(t)
	db, other := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	intake := newIntake(t, db)
	// Polls often, because it is not notified of deliveries from another process.
	startEngine(t, db, webhook.Config{Poll: 20 * time.Millisecond}, true)
	for n := 1; ; n++ {
		var accepting atomic.Bool
		sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			if !accepting.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		k := newMenuHarness(t, db, "US")
		k.store("s1")
		hubtest.Subscribe(t, db, k.business, core.OrderPlaced, sink.URL)
		start := db.Clock().Now()
		for i := range 3 {
			_, err := intake.Place(ctx, k.arrival(fmt.Sprint(i), "web", oneCurry, ""))
			require.NoError(t, err)
		}
		eventually(t, "first attempts", func() bool {
			tried := 0
			list, err := deliveriesdb.New(db).List(ctx, k.business, webhook.Filter{Limit: 10})
			require.NoError(t, err)
			for _, d := range list {
				tried += d.Attempts
			}
			return tried == 3
		})
		accepting.Store(true)

		now := db.Clock().Now()
		work, err := webhook.RetryRequest{TimeRange: webhook.TimeRange{From: start, To: now}}.Job(k.business, now)
		require.NoError(t, err)
		require.NoError(t, jobs.New(db).Enqueue(ctx, work, ""))
		broken := pgtest.BreakAt(other, n)
		_ = runOrderRetry(other)
		last := !broken() && n > 12 // a run may end early, because it finds no job yet
		eventually(t, "the retry", func() bool {
			_ = runOrderRetry(other)
			state, _ := jobState(t, db, work.ID)
			return state == "done"
		})
		require.JSONEq(t, fmt.Sprintf(`{"reference_id":%q,"num_webhooks_retried":3,"num_webhooks_retry_failed":0}`,
			work.ID), string(pgtest.EventBody(t, db, work.ID)), "statement %d", n)
		eventually(t, "the callback", func() bool { return len(sink.Arrivals()) == 7 }) // to the webhook for orders
		ids := map[string]int{}
		for _, arrival := range sink.Arrivals() {
			if arrival.Header.Get("X-Event-Type") == string(core.OrderPlaced) {
				ids[arrival.Header.Get("webhook-id")]++
			}
		}
		require.Len(t, ids, 3)
		for id, times := range ids {
			require.Equal(t, 2, times, "order %s, statement %d", id, n)
		}
		if last {
			return
		}
	}
}

func TestOrderRetrySkipsOrdersDeliveredMeanwhile(t *testing.T) {
	ctx := context.Background()
	db := hubtest.Database(t, nil)
	var accepting atomic.Bool
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !accepting.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	hubtest.Subscribe(t, db, k.business, core.OrderPlaced, sink.URL)
	startEngine(t, db, webhook.Config{}, true)
	deliveries, resends := deliveriesdb.New(db), deliveriesdb.NewOrderRetries(db)
	list := func(state webhook.State) []webhook.DeliveryRecord {
		found, err := deliveries.List(ctx, k.business, webhook.Filter{State: state, Limit: 10})
		require.NoError(t, err)
		return found
	}
	start := db.Clock().Now()
	_, err := newIntake(t, db).Place(ctx, k.arrival("1", "web", oneCurry, ""))
	require.NoError(t, err)
	eventually(t, "the first attempt",
		func() bool { waiting := list(webhook.Pending); return len(waiting) == 1 && waiting[0].Attempts == 1 })

	now := db.Clock().Now()
	window := webhook.TimeRange{From: start, To: now}
	work, err := webhook.RetryRequest{TimeRange: window}.Job(k.business, now)
	require.NoError(t, err)
	require.NoError(t, jobs.New(db).Enqueue(ctx, work, ""))
	claimed, _, err := jobs.New(db).Claim(ctx, core.ID{7}, 1, now.Add(time.Hour))
	require.NoError(t, err)
	require.NoError(t, resends.Select(ctx, claimed[0], window))
	accepting.Store(true)
	require.NoError(t, deliveries.Retry(ctx, k.business, list("")[0].ID))
	eventually(t, "the delivery", func() bool { return len(list(webhook.Delivered)) == 1 })

	_, err = resends.Resend(ctx, claimed[0], core.ID{}, 10)
	require.NoError(t, err)
	tally, err := resends.Tally(ctx, claimed[0])
	require.NoError(t, err)
	require.Zero(t, tally)
	require.Len(t, list(webhook.Delivered), 1)
}

// runOrderRetry claims the job under a lease that expires at once, and runs it.
func runOrderRetry(db *postgres.DB) error {
	ctx := context.Background()
	claimed, _, err := jobs.New(db).Claim(ctx, core.ID{7}, 1, db.Clock().Now())
	if err != nil || len(claimed) == 0 {
		return err
	}
	return webhook.OrderRetry{Retries: deliveriesdb.NewOrderRetries(db), Clock: db.Clock()}.Run(ctx, claimed[0],
		func(int, int) {})
}
