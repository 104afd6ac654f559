package storetest

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// setURL changes the URL of a webhook.
func setURL(t *testing.T, db *postgres.DB, sub webhook.Subscription, url string) {
	t.Helper()
	err := webhooksdb.New(db).Change(context.Background(), sub.Business, "test", sub.ID,
		func(s *webhook.Subscription) error {
			s.URL = url
			return nil
		})
	assert.NoError(t, err)
}

// probe opens the circuit of an endpoint.
func (c *orderingHarness) probe(sub webhook.Subscription) {
	c.t.Helper()
	now := c.clock.Now()
	pgtest.Exec(c.t, c.db,
		`INSERT INTO endpoint_circuits (business_id, endpoint, failures, since, at, status, error, probing_since,
			next_probe)
		VALUES (?0, ?1, 9, ?2, ?2, 0, 'no answer', ?2, ?3)`, c.business, sub.ID, now, now.Add(time.Hour))
}

func TestOrderEventsKeepTheirSequenceAcrossServerMoves(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2)
	owner, first := c.requireClaimable("1/1")
	c.finish(owner, webhook.Pending, first["1/1"])
	setURL(t, c.db, c.placed, "http://moved.example/placed")
	c.publish(1, 3)
	c.requireClaimable() // the third waits for the second, which waits for the moved one
	setURL(t, c.db, c.status, "http://moved.example/status")
	c.publish(1, 4)
	c.requireClaimable()
	c.clock.Advance(time.Second)
	for _, next := range []string{"1/1", "1/2", "1/3", "1/4"} {
		owner, claimed := c.requireClaimable(next)
		require.Contains(t, claimed[next].URL, "http://moved.example/")
		c.finish(owner, webhook.Delivered, claimed[next])
	}
	requireQueueEmpty(t, c.db)
}

func TestSweepUnblocksDeliveryWhosePredecessorMovedServers(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2, 3)
	owner, first := c.requireClaimable("1/1")
	c.requireClaimable()
	c.finish(owner, webhook.Pending, first["1/1"])
	setURL(t, c.db, c.placed, "http://moved.example/placed")
	c.requireClaimable()
	require.NoError(t, outbox.Sweep(context.Background(), c.db))
	owner, second := c.requireClaimable("1/2")
	c.finish(owner, webhook.Delivered, second["1/2"])
	c.requireClaimable("1/3")
}

func TestFailingEndpointDelaysOnlyItsOwnOrderEvents(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2)
	owner, first := c.requireClaimable("1/1")
	c.requireClaimable()
	c.finish(owner, webhook.Pending, first["1/1"])
	c.probe(c.placed)
	c.publish(2, 1, 2, 3)
	owner, second := c.requireClaimable("2/2")
	require.NoError(t, outbox.Sweep(context.Background(), c.db))
	c.requireClaimable("1/2") // was blocked before the circuit opened
	c.finish(owner, webhook.Delivered, second["2/2"])
	c.requireClaimable("2/3")
}

func TestDisablingAWebhookShowsItsDeliveriesAsHeld(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	queue := deliveries.New(c.db)
	c.publish(1, 1)
	c.publish(2, 1)
	owner, first := c.requireClaimable("1/1", "2/1")
	c.finish(owner, webhook.Pending, first["1/1"])
	c.switchTo(c.placed, false)
	held, err := queue.List(ctx, c.business, webhook.Filter{State: webhook.Held, Limit: 10})
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, first["1/1"].ID, held[0].ID)
	require.Equal(t, "the webhook is paused", held[0].HeldMessage)
	require.Zero(t, held[0].NextAttempt)
	pending, err := queue.List(ctx, c.business, webhook.Filter{State: webhook.Pending, Limit: 10})
	require.NoError(t, err)
	require.Len(t, pending, 1, "the one under way")
	require.Equal(t, first["2/1"].ID, pending[0].ID)
	count, err := queue.Count(ctx, c.business, webhook.Selector{State: webhook.Pending,
		To: c.clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Zero(t, count)
	c.switchTo(c.placed, true)
	c.clock.Advance(time.Second)
	c.requireClaimable("1/1")
}

func TestResentDeliveryKeepsItsSequenceNumber(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	c.publish(1, 1, 2, 3)
	var ids []core.ID
	for _, next := range []string{"1/1", "1/2"} {
		owner, claimed := c.requireClaimable(next)
		ids = append(ids, claimed[next].ID)
		c.finish(owner, webhook.Delivered, claimed[next])
	}
	owner, third := c.requireClaimable("1/3")
	c.finish(owner, webhook.Pending, third["1/3"])
	choice := webhook.Selector{IDs: ids}
	job, err := choice.Job(c.business, 2, c.clock.Now())
	require.NoError(t, err)
	require.NoError(t, jobs.New(c.db).Enqueue(ctx, job, ""))
	claimed, _, err := jobs.New(c.db).Claim(ctx, core.ID{1}, 1, c.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	resent, _, err := deliveries.New(c.db).ResendNext(ctx, claimed[0], choice, 10)
	require.NoError(t, err)
	require.Equal(t, 2, resent.Resent)
	c.clock.Advance(time.Second) // the third becomes due
	for _, next := range []string{"1/1", "1/2", "1/3"} {
		owner, claimed := c.requireClaimable(next)
		c.finish(owner, webhook.Delivered, claimed[next])
	}
	require.NoError(t, deliveries.New(c.db).Retry(ctx, c.business, ids[1]))
	require.NoError(t, deliveries.New(c.db).Retry(ctx, c.business, ids[0]))
	owner, again := c.requireClaimable("1/1")
	c.finish(owner, webhook.Delivered, again["1/1"])
	c.requireClaimable("1/2")
}

// requireIdle waits until the delivery queue is empty.
func requireIdle(t *testing.T, db *postgres.DB) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, err := schema.ReadBacklog(context.Background(), db)
		return err == nil && b.Due+b.Scheduled+b.Held == 0
	}, 90*time.Second, 100*time.Millisecond, "everything is delivered")
}

// TestBulkResendKeepsTheOrderOfEvents resends every delivered event of many orders on two
// replicas, to a server that sometimes fails, while new events arrive.
func TestBulkResendKeepsTheOrderOfEvents(t *testing.T) {
	const orders, sequences = 40, 4
	// One clock for both replicas: events are resent by id, and clocks apart would change their order.
	ctx, url, clock := context.Background(), hubtest.DatabaseURL(t), core.NewSystemClock(nil)
	dbs := []*postgres.DB{hubtest.Open(t, url, clock), hubtest.Connect(t, url, clock)}
	business := hubtest.Business(t, dbs[0]).ID
	r := newReceiver(t)
	hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderPlaced, r.at("/placed"))
	hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderStatusUpdate, r.at("/status"))
	for _, db := range dbs {
		startEngine(t, db, webhook.Config{Poll: 50 * time.Millisecond}, true)
	}
	for order := int64(1); order <= orders; order++ {
		for sequence := 1; sequence <= sequences; sequence++ {
			require.NoError(t, outbox.NewPublisher(dbs[sequence%2]).Publish(ctx,
				orderEvent(dbs[0], business, order, sequence)))
		}
	}
	requireIdle(t, dbs[0])
	require.True(t, r.complete(orders, sequences))

	r.mu.Lock()
	clear(r.accepted)
	r.mu.Unlock()
	now := dbs[0].Clock().Now()
	end := now.Add(time.Millisecond)
	choice := webhook.Selector{State: webhook.Delivered, To: end, EndedBy: end}
	job, err := choice.Job(business, 0, now) // due now: a later time may not have come at the claim
	require.NoError(t, err)
	require.NoError(t, jobs.New(dbs[0]).Enqueue(ctx, job, ""))
	claimed, _, err := jobs.New(dbs[0]).Claim(ctx, core.ID{1}, 1, now.Add(time.Hour))
	require.NoError(t, err)
	queue := deliveries.New(dbs[0])
	for more := true; more; {
		_, more, err = queue.ResendNext(ctx, claimed[0], choice, 25) // batches that split the events of orders
		require.NoError(t, err)
	}
	for order := int64(1); order <= orders; order++ {
		require.NoError(t, outbox.NewPublisher(dbs[order%2]).Publish(ctx,
			orderEvent(dbs[0], business, order, sequences+1)))
	}
	requireIdle(t, dbs[0])
	require.True(t, r.complete(orders, sequences+1))
}

// TestChangingServersKeepsTheOrderOfEvents moves both order webhooks from a failing server to
// another one while events arrive.
func TestChangingServersKeepsTheOrderOfEvents(t *testing.T) {
	const orders, sequences = 30, 5
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	dbs := []*postgres.DB{hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)}
	business := hubtest.Business(t, dbs[0]).ID
	before := hubtest.NewSink(t,
		func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	after := newReceiver(t)
	after.mayFail = true // on a busy machine, after 31 s of retries at the first server
	placed := hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderPlaced, before.URL)
	status := hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderStatusUpdate, before.URL)
	for _, db := range dbs {
		startEngine(t, db, webhook.Config{Poll: 50 * time.Millisecond}, true)
	}
	first, second := placed, status
	if rand.IntN(2) == 0 {
		first, second = status, placed
		after.headless = true // until both have moved, they use different servers
	}
	for sequence := 1; sequence <= sequences; sequence++ {
		for order := int64(1); order <= orders; order++ {
			require.NoError(t, outbox.NewPublisher(dbs[rand.IntN(2)]).Publish(ctx,
				orderEvent(dbs[0], business, order, sequence)))
			switch {
			case sequence == 3 && order == 10:
				setURL(t, dbs[1], first, after.at("/"+string(first.EventType)))
			case sequence == 3 && order == 20:
				setURL(t, dbs[0], second, after.at("/"+string(second.EventType)))
			}
		}
	}
	requireIdle(t, dbs[0])
	for _, order := range after.early {
		var failed int
		pgtest.Row(t, dbs[0], &failed,
			`SELECT count(*) FROM deliveries d JOIN events e ON e.business_id = d.business_id AND e.id = d.event_id
			WHERE e.order_id = ? AND d.state = 'failed'`, order)
		require.Positive(t, failed, "events of order %d came early", order)
	}
	require.True(t, after.complete(orders, sequences))
}
