package storetest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// orderRetryHarness is a business whose orders are placed and resent.
type orderRetryHarness struct {
	*menuHarness
	db        *postgres.DB
	gone      *hubtest.Sink // responds with 410, so that its webhook is switched off
	failing   *hubtest.Sink // responds with 400
	accepting *hubtest.Sink
}

func newOrderRetryHarness(t *testing.T) *orderRetryHarness {
	t.Helper()
	db := hubtest.Database(t, nil)
	c := &orderRetryHarness{menuHarness: newMenuHarness(t, db, "US"), db: db}
	c.store("s1")
	sinkWith := func(status int) *hubtest.Sink {
		return hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	}
	c.gone, c.failing, c.accepting = sinkWith(http.StatusGone), sinkWith(http.StatusBadRequest), sinkWith(http.StatusOK)
	startEngine(t, db, webhook.Config{}, true)
	return c
}

func (c *orderRetryHarness) subscribe(t *testing.T, sink *hubtest.Sink) webhook.Subscription {
	t.Helper()
	return hubtest.Subscribe(t, c.db, c.business, core.OrderPlaced, sink.URL)
}

func (c *orderRetryHarness) place(t *testing.T, n int) {
	t.Helper()
	intake := newIntake(t, c.db)
	for i := range n {
		_, err := intake.Place(context.Background(), c.arrival(fmt.Sprint(i), "web", oneCurry, ""))
		require.NoError(t, err)
	}
}

// retry resends the orders of the last hour and returns the numbers of sent and failed ones.
func (c *orderRetryHarness) retry(t *testing.T) string {
	t.Helper()
	ctx, now := context.Background(), c.db.Clock().Now()
	work, err := webhook.RetryRequest{TimeRange: webhook.TimeRange{From: now.Add(-time.Hour),
		To: now.Add(time.Second)}}.Job(c.business, now)
	require.NoError(t, err)
	require.NoError(t, jobs.New(c.db).Enqueue(ctx, work, ""))
	eventually(t, "the retry", func() bool {
		_ = runOrderRetry(c.db)
		state, _ := jobState(t, c.db, work.ID)
		return state == "done"
	})
	status, err := jobs.New(c.db).Status(ctx, c.business, work.ID)
	require.NoError(t, err)
	return string(status.Result)
}

// selectOrderRetry claims an order retry of the last hour, and selects its deliveries.
func selectOrderRetry(t *testing.T, db *postgres.DB, business core.BusinessID) (deliveries.OrderRetries, core.Job) {
	t.Helper()
	ctx, now := context.Background(), db.Clock().Now()
	window := webhook.TimeRange{From: now.Add(-time.Hour), To: now.Add(time.Second)}
	work, err := webhook.RetryRequest{TimeRange: window}.Job(business, now)
	require.NoError(t, err)
	require.NoError(t, jobs.New(db).Enqueue(ctx, work, ""))
	claimed, _, err := jobs.New(db).Claim(ctx, core.ID{7}, 1, now.Add(time.Hour))
	require.NoError(t, err)
	retries := deliveries.NewOrderRetries(db)
	require.NoError(t, retries.Select(ctx, claimed[0], window))
	return retries, claimed[0]
}

// ids counts the received orders by webhook-id.
func ids(sink *hubtest.Sink) map[string]int {
	found := map[string]int{}
	for _, arrival := range sink.Arrivals() {
		if arrival.Header.Get("X-Event-Type") == string(core.OrderPlaced) {
			found[arrival.Header.Get("webhook-id")]++
		}
	}
	return found
}

func TestOrderRetryUsesTheReplacementWebhook(t *testing.T) {
	c := newOrderRetryHarness(t)
	c.subscribe(t, c.gone)
	c.place(t, 1)
	eventually(t, "the first attempt", func() bool { return len(c.gone.Arrivals()) >= 1 })
	eventually(t, "the webhook is switched off", func() bool {
		list, _, err := webhooksdb.New(c.db).List(context.Background(), c.business, 10, 0)
		return err == nil && !list[0].Active
	})
	require.JSONEq(t, `{"retried":0,"failed":0}`, c.retry(t), "there is no webhook to send them to")
	c.subscribe(t, c.accepting)
	require.JSONEq(t, `{"retried":1,"failed":0}`, c.retry(t))
	require.Equal(t, ids(c.gone), ids(c.accepting), "the same webhook-id")
	require.JSONEq(t, `{"retried":0,"failed":0}`, c.retry(t), "it was accepted")
	require.Len(t, c.gone.Arrivals(), 1)
}

func TestOrderRetrySendsOrdersThatHadNoWebhook(t *testing.T) {
	c := newOrderRetryHarness(t)
	c.place(t, 3)
	c.subscribe(t, c.failing)
	c.subscribe(t, c.accepting)
	require.JSONEq(t, `{"retried":3,"failed":3}`, c.retry(t), "one of the two webhooks rejects each order")
	require.JSONEq(t, `{"retried":3,"failed":3}`, c.retry(t))
	require.Len(t, ids(c.accepting), 3)
	for id, times := range ids(c.accepting) {
		require.Equal(t, 1, times, id)
		require.Equal(t, 2, ids(c.failing)[id], "only the webhook that rejected it gets it again")
	}
}

func TestOrderRetrySkipsCancelledOrders(t *testing.T) {
	c := newOrderRetryHarness(t)
	c.place(t, 3) // without a webhook
	cancel := func(n int) {
		_, _, err := ordersdb.New(c.db).Cancel(context.Background(), c.business,
			order.Cancellation{Platform: "web", PlatformOrderID: fmt.Sprint(n)})
		require.NoError(t, err)
	}
	cancel(0)
	c.subscribe(t, c.failing)
	require.JSONEq(t, `{"retried":2,"failed":2}`, c.retry(t))
	pgtest.Exec(t, c.db, `WITH ended AS (DELETE FROM delivery_queue WHERE business_id = ? RETURNING *)
		INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status,
			finished_at)
		SELECT business_id, id, event_id, event_type, webhook_id, url, 'failed', 6, 400, now() FROM ended`, c.business)
	cancel(1)
	require.JSONEq(t, `{"retried":1,"failed":1}`, c.retry(t))
}

func TestOrderRetrySendsWaitingCancelledOrders(t *testing.T) {
	ctx, c := context.Background(), newOrderRetryHarness(t)
	c.subscribe(t, hubtest.NewSink(t,
		func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	c.place(t, 1)
	eventually(t, "the first attempt", func() bool {
		waiting, err := deliveries.New(c.db).List(ctx, c.business, webhook.Filter{State: webhook.Pending, Limit: 10})
		require.NoError(t, err)
		return len(waiting) == 1 && waiting[0].Attempts == 1
	})
	_, _, err := ordersdb.New(c.db).Cancel(ctx, c.business, order.Cancellation{Platform: "web", PlatformOrderID: "0"})
	require.NoError(t, err)
	require.JSONEq(t, `{"retried":1,"failed":1}`, c.retry(t), "its automatic retry would send it, too")
}

func TestOrderRetrySkipsOrdersCancelledMeanwhile(t *testing.T) {
	ctx, c := context.Background(), newOrderRetryHarness(t)
	c.place(t, 2)
	c.subscribe(t, c.accepting)
	retries, work := selectOrderRetry(t, c.db, c.business)

	_, _, err := ordersdb.New(c.db).Cancel(ctx, c.business, order.Cancellation{Platform: "web", PlatformOrderID: "1"})
	require.NoError(t, err)
	_, err = retries.Resend(ctx, work, core.ID{}, 10)
	require.NoError(t, err)
	eventually(t, "the deliveries", func() bool {
		waiting, err := deliveries.New(c.db).List(ctx, c.business, webhook.Filter{State: webhook.Pending, Limit: 10})
		require.NoError(t, err)
		return len(waiting) == 0
	})
	require.Len(t, ids(c.accepting), 1)
	failed, err := deliveries.New(c.db).List(ctx, c.business, webhook.Filter{State: webhook.Failed, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, failed, "the delivery that was never sent is not a failure")
	var missed int
	require.NoError(t, c.db.Tenant(c.business).QueryRowContext(ctx, `SELECT count(*) FROM orders
		WHERE business_id = ? AND unnotified = (state = ?)`, c.business, order.Cancelled).Scan(&missed))
	require.Equal(t, 2, missed, "only the cancelled order has reached no webhook")
	tally, err := retries.Tally(ctx, work)
	require.NoError(t, err)
	require.Equal(t, webhook.Tally{Selected: 1, Sent: 1, Responded: 1}, tally)
}

func TestOrderRetrySendsDeliveriesThatFailMeanwhile(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	hubtest.Subscribe(t, db, k.business, core.OrderPlaced, "http://127.0.0.1:1/")
	now := db.Clock().Now()
	_, err := newIntake(t, db).Place(ctx, k.arrival("1", "web", oneCurry, ""))
	require.NoError(t, err)
	pgtest.Exec(t, db, `UPDATE delivery_queue SET attempts = 5`)
	retries, work := selectOrderRetry(t, db, k.business)

	exec, commit := pgtest.BeginOther(t, db) // its last attempt fails
	exec(`WITH ended AS (DELETE FROM delivery_queue RETURNING *)
		INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status,
			finished_at)
		SELECT business_id, id, event_id, event_type, webhook_id, url, 'failed', 6, 503, ? FROM ended`, now)
	resent := make(chan error)
	go func() {
		_, err := retries.Resend(ctx, work, core.ID{}, 10)
		resent <- err
	}()
	eventually(t, "the retry waits for its outcome", func() bool { return pgtest.HasWaiters(t, db) })
	commit()
	require.NoError(t, <-resent)
	tally, err := retries.Tally(ctx, work)
	require.NoError(t, err)
	require.Equal(t, webhook.Tally{Selected: 1, Sent: 1}, tally)
}

func TestOrderRetryWaitsForACancellation(t *testing.T) {
	ctx, c := context.Background(), newOrderRetryHarness(t)
	c.place(t, 1)
	c.subscribe(t, c.accepting)
	retries, work := selectOrderRetry(t, c.db, c.business)

	exec, commit := pgtest.BeginOther(t, c.db)
	exec(`UPDATE orders SET state = 'Cancelled'`)
	resent := make(chan error)
	go func() {
		_, err := retries.Resend(ctx, work, core.ID{}, 10)
		resent <- err
	}()
	eventually(t, "the retry waits", func() bool { return pgtest.HasWaiters(t, c.db) })
	commit()
	require.NoError(t, <-resent)
	tally, err := retries.Tally(ctx, work)
	require.NoError(t, err)
	require.Zero(t, tally)
}

func TestOrderRetryCountsAnOrderOnceAcrossWebhooks(t *testing.T) {
	c := newOrderRetryHarness(t)
	first, second := c.subscribe(t, c.failing),
		c.subscribe(t, hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
		}))
	c.place(t, 2)
	eventually(t, "the first attempts", func() bool {
		list, err := deliveries.New(c.db).List(context.Background(), c.business, webhook.Filter{Limit: 10})
		require.NoError(t, err)
		tried := 0
		for _, d := range list {
			tried += d.Attempts
		}
		return tried == 4
	})
	require.NotEqual(t, first.ID, second.ID)
	require.JSONEq(t, `{"retried":2,"failed":2}`, c.retry(t))
	for id, times := range ids(c.failing) {
		require.Equal(t, 2, times, id)
	}
}

func TestOrderRetryOfAPausedWebhookNotifiesLater(t *testing.T) {
	ctx, c := context.Background(), newOrderRetryHarness(t)
	c.place(t, 1)
	c.subscribe(t, c.accepting)
	unnotified := func() (orders int) {
		require.NoError(t, c.db.Tenant(c.business).QueryRowContext(ctx,
			`SELECT count(*) FROM orders WHERE business_id = ? AND unnotified`, c.business).Scan(&orders))
		return orders
	}
	retries, work := selectOrderRetry(t, c.db, c.business)
	pgtest.Exec(t, c.db, `UPDATE webhooks SET active = false`)
	_, err := retries.Resend(ctx, work, core.ID{}, 10)
	require.NoError(t, err)
	require.Equal(t, 1, unnotified(), "nothing was sent")
	require.NoError(t, jobs.New(c.db).MarkFailed(ctx, work, "ended"))

	pgtest.Exec(t, c.db, `UPDATE webhooks SET active = true`)
	retries, work = selectOrderRetry(t, c.db, c.business)
	_, err = retries.Resend(ctx, work, core.ID{}, 10)
	require.NoError(t, err)
	require.Zero(t, unnotified())
}
