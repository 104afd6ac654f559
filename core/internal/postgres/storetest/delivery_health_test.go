package storetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	deliveriesdb "github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

var strict = webhook.CircuitRules{FailureThreshold: 4, MinDuration: time.Second, FirstProbe: time.Second,
	MaxProbeInterval: 4 * time.Second}

// deliveryHarness is a business with one webhook whose test acts as the engine.
type deliveryHarness struct {
	t        *testing.T
	db       *postgres.DB
	clock    *clocktest.Clock
	queue    deliveriesdb.Store
	business core.BusinessID
	sub      webhook.Subscription
	since    string // time of the first failure
}

func newDeliveryHarness(t *testing.T) *deliveryHarness {
	t.Helper()
	c := &deliveryHarness{t: t, clock: clocktest.New()}
	c.db = hubtest.Database(t, c.clock)
	c.queue = deliveriesdb.New(c.db)
	c.business = hubtest.Business(t, c.db).ID
	c.sub = hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://pos.example/")
	return c
}

func (c *deliveryHarness) publish(n int) {
	c.t.Helper()
	for range n {
		c.clock.Advance(time.Millisecond)
		publish(c.t, c.db, c.business, "", `{}`)
	}
}

func (c *deliveryHarness) claim() (core.ID, []webhook.Delivery, time.Time) {
	c.t.Helper()
	owner := core.NewID(c.clock.Now())
	batch, err := c.queue.Claim(context.Background(), owner,
		claimUpTo(512, 1<<20), c.clock.Now().Add(20*time.Second))
	require.NoError(c.t, err)
	return owner, batch.Items, batch.NextDue
}

// respond records a response with the given status for each of the deliveries.
func (c *deliveryHarness) respond(status int, owner core.ID, deliveries ...webhook.Delivery) queue.FinishResult {
	c.t.Helper()
	var results []webhook.Result
	now := c.clock.Now()
	for _, d := range deliveries {
		r := webhook.Result{Delivery: d, State: webhook.Delivered,
			Attempt: webhook.Attempt{StartedAt: now, Status: status, URL: d.URL}}
		if status != 200 {
			r.State, r.RetryAt, r.Attempt.ErrorClass, r.Attempt.Error = webhook.Pending, now.Add(time.Minute),
				webhook.Status, "no"
		}
		results = append(results, r)
	}
	effect, err := c.queue.Finish(context.Background(), owner, results, strict)
	require.NoError(c.t, err)
	return effect
}

// openCircuit opens the endpoint's circuit with four failures over a second. Eight more deliveries
// are due.
func (c *deliveryHarness) openCircuit() {
	c.t.Helper()
	c.publish(4)
	owner, first, _ := c.claim()
	require.Len(c.t, first, 4)
	c.since = c.clock.Now().Format(time.RFC3339)
	require.Empty(c.t, c.respond(429, owner, first[:2]...).Blocked)
	c.publish(8)
	another, rest, _ := c.claim()
	require.Len(c.t, rest, 8)
	c.clock.Advance(time.Second)
	require.Empty(c.t, c.respond(500, owner, first[2]).Blocked, "three are too few")
	require.Equal(c.t, []int64{c.sub.ID}, c.respond(503, owner, first[3]).Blocked)
	require.NoError(c.t, c.queue.Release(context.Background(), another, rest))
}

func (c *deliveryHarness) held() []webhook.DeliveryRecord {
	c.t.Helper()
	list, err := c.queue.List(context.Background(), c.business, webhook.Filter{State: webhook.Held, Limit: 100})
	require.NoError(c.t, err)
	return list
}

func TestOneReplicaProbesAFailingEndpoint(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	_, none, next := c.claim()
	require.Empty(t, none)
	require.Equal(t, c.clock.Now().Add(time.Second), next.UTC(), "the first probe")
	for _, pause := range []time.Duration{1, 2, 4, 4} {
		c.clock.Advance(pause*time.Second - time.Millisecond)
		_, none, _ = c.claim()
		require.Empty(t, none)
		c.clock.Advance(time.Millisecond)
		var mu sync.Mutex
		var probes []webhook.Delivery
		var prober core.ID
		var replicas sync.WaitGroup
		for range 4 {
			replicas.Go(func() {
				owner := core.NewID(time.Now())
				batch, err := c.queue.Claim(context.Background(), owner,
					claimUpTo(512, 1<<20), c.clock.Now().Add(20*time.Second))
				mu.Lock()
				defer mu.Unlock()
				if err == nil && len(batch.Items) > 0 {
					probes, prober = append(probes, batch.Items...), owner
				}
			})
		}
		replicas.Wait()
		require.Len(t, probes, 1, "after %d s", pause)
		require.True(t, probes[0].Probe)
		require.Zero(t, probes[0].Attempts, "the one that has waited longest")
		require.Equal(t, []int64{c.sub.ID}, c.respond(0, prober, probes[0]).Blocked)
	}
	c.clock.Advance(4 * time.Second)
	owner, probe, _ := c.claim()
	require.Len(t, probe, 1)
	require.True(t, c.respond(404, owner, probe[0]).Due, "any status but 5xx and 429 closes the circuit")
	_, all, _ := c.claim()
	require.Len(t, all, 3, "all due deliveries are claimable at once")
	require.Empty(t, c.held())
}

func TestFailingEndpointHoldsDeliveriesWithAReason(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	held := c.held()
	require.NotEmpty(t, held)
	for _, d := range held {
		require.Equal(t, "the endpoint has responded with errors since "+c.since+
			", the last was 503; it is retried every 1s", d.HeldMessage)
		require.Equal(t, c.since, d.HeldSince.UTC().Format(time.RFC3339))
	}
	pending, err := c.queue.List(context.Background(), c.business, webhook.Filter{State: webhook.Pending, Limit: 100})
	require.NoError(t, err)
	require.Empty(t, pending)
	backlog, err := schema.ReadBacklog(context.Background(), c.db)
	require.NoError(t, err)
	require.Equal(t, int64(len(held)), backlog.Held)
	require.Equal(t, int64(1), backlog.OpenCircuits)
	require.Zero(t, backlog.Due+backlog.Scheduled)
	require.Zero(t, backlog.OldestDue)

	c.clock.Advance(time.Second)
	owner, probe, _ := c.claim()
	require.Len(t, c.held(), len(held)-1, "the probe is under way")
	c.respond(0, owner, probe...)
	require.Equal(t, "the endpoint has not responded since "+c.since+"; it is retried every 2s",
		c.held()[0].HeldMessage)
}

// countingStarter is a starter with unlimited capacity that counts reservations.
type countingStarter struct {
	deadReplica
	reserved *atomic.Int64
}

func (c countingStarter) Reserve(int64) bool {
	c.reserved.Add(1)
	return true
}

func (c countingStarter) CancelReservation(int64) { c.reserved.Add(-1) }

func TestFailingEndpointGetsNoImmediateDelivery(t *testing.T) {
	c := newDeliveryHarness(t)
	var reserved atomic.Int64
	c.openCircuit()
	outbox.UseStarter(c.db, countingStarter{deadReplica{c.clock}, &reserved})
	c.publish(1)
	require.Zero(t, reserved.Load())
	require.Len(t, c.held(), 13)
	publish(t, c.db, c.business, "https://elsewhere.example/", `{}`)
	require.Equal(t, int64(1), reserved.Load())
}

func TestFailingCallbackURLIsProbedToo(t *testing.T) {
	c := newDeliveryHarness(t)
	var reserved atomic.Int64
	publishTo := func(url string) {
		c.clock.Advance(time.Millisecond)
		publish(t, c.db, c.business, url, `{}`)
	}
	for range 4 {
		publishTo("https://callback.example/1")
	}
	owner, first, _ := c.claim()
	c.respond(0, owner, first[:3]...)
	c.clock.Advance(time.Second)
	require.Len(t, c.respond(0, owner, first[3]).Blocked, 1)
	outbox.UseStarter(c.db, countingStarter{deadReplica{c.clock}, &reserved})
	publishTo("https://callback.example/1")
	require.Zero(t, reserved.Load())
	publishTo("https://callback.example/2")
	require.Equal(t, int64(1), reserved.Load())
}

func TestManualResendBypassesAnOpenCircuit(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	manual := c.held()[3].ID
	require.NoError(t, c.queue.Retry(context.Background(), c.business, manual))
	owner, claimed, _ := c.claim()
	require.Len(t, claimed, 1)
	require.Equal(t, manual, claimed[0].ID)
	require.True(t, claimed[0].Manual)
	require.False(t, claimed[0].Probe)
	_, none, _ := c.claim()
	require.Empty(t, none)
	c.respond(503, owner, claimed[0])
	c.clock.Advance(time.Minute)
	_, claimed, _ = c.claim()
	require.Len(t, claimed, 1, "the manual retry applies once; another delivery is the probe")
	require.True(t, claimed[0].Probe)
}

func TestAbandonedProbeIsMadeByAnotherReplica(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	c.clock.Advance(time.Second)
	_, crashed, _ := c.claim()
	require.Len(t, crashed, 1)
	_, none, next := c.claim()
	require.Empty(t, none)
	require.Equal(t, crashed[0].LeasedUntil, next.UTC())
	c.clock.Advance(20 * time.Second)
	owner, second, _ := c.claim()
	require.Len(t, second, 1, "when its lease is over")
	require.NoError(t, c.queue.Release(context.Background(), owner, second))
	_, third, _ := c.claim()
	require.Len(t, third, 1, "when it is given back")
}

func TestBlockedDeliveryLeavesTheProbeToAnother(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2)
	c.publish(2, 1)
	pgtest.Exec(t, c.db,
		`INSERT INTO endpoint_circuits (business_id, endpoint, failures, since, at, status, error, probing_since,
			next_probe, pause_ms)
		SELECT business_id, id, 20, now(), now(), 0, '', ?, ?, 1000 FROM webhooks
		WHERE event_type = 'order_status_update'`, c.clock.Now(), c.clock.Now())
	c.publish(3, 2)
	_, _ = c.requireClaimable("1/1", "2/1")
	_, _ = c.requireClaimable("3/2")
}

func TestChangingAWebhookResetsItsCircuit(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	change := func(decide func(*webhook.Subscription)) {
		require.NoError(t, webhooksdb.New(c.db).Change(context.Background(), c.business, "test", c.sub.ID,
			func(s *webhook.Subscription) error {
				decide(s)
				return nil
			}))
	}
	change(func(s *webhook.Subscription) { s.UpdatedAt = c.clock.Now() })
	_, none, _ := c.claim()
	require.Empty(t, none, "a repeated subscription changes nothing")
	change(func(s *webhook.Subscription) { s.Active = false })
	_, none, _ = c.claim()
	require.Empty(t, none)
	for _, d := range c.held() {
		require.Equal(t, "the webhook is paused", d.HeldMessage)
	}
	change(func(s *webhook.Subscription) { s.Active, s.URL = true, "https://new.example/" })
	_, all, _ := c.claim()
	require.Len(t, all, 8)
}

func TestSweepForgetsHealthOfEndpointsWithoutDeliveries(t *testing.T) {
	c, ctx := newDeliveryHarness(t), context.Background()
	c.openCircuit()
	c.clock.Advance(2 * time.Hour)
	require.NoError(t, outbox.Sweep(ctx, c.db))
	probed := func() int64 {
		backlog, err := schema.ReadBacklog(ctx, c.db)
		require.NoError(t, err)
		return backlog.OpenCircuits
	}
	require.Equal(t, int64(1), probed(), "deliveries wait")
	pgtest.Exec(t, c.db, `DELETE FROM delivery_queue`)
	require.NoError(t, outbox.Sweep(ctx, c.db))
	require.Zero(t, probed())
}

func TestEndpointCountDoesNotChangeStatementCount(t *testing.T) {
	statements := func(n, status int) int {
		c := newDeliveryHarness(t)
		for i := range n {
			publish(t, c.db, c.business, fmt.Sprintf("https://callback.example/%d", i), `{}`)
		}
		owner, claimed, _ := c.claim()
		require.Len(t, claimed, n)
		count := pgtest.Statements(c.db)
		c.respond(status, owner, claimed...)
		return count()
	}
	well := statements(40, 200)
	require.Equal(t, statements(2, 200), well)
	require.Equal(t, statements(2, 503), statements(40, 503))
	require.LessOrEqual(t, well, 4, "BEGIN, the deliveries, the circuits, COMMIT")
}

func TestEngineProbesThenResumesAtFullRate(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	business := hubtest.Business(t, db).ID
	var well atomic.Bool
	var accepted atomic.Int64
	const events = 60
	known := make(chan struct{}) // closed once the circuit is open
	sink := hubtest.NewSink(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n > events+1 {
			<-known
		}
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		accepted.Add(1)
	})
	hubtest.SubscribeSeconds(t, db, business, core.StoreCreation, sink.URL)
	startSending(t, db, patient, webhook.Config{Poll: 10000 * time.Hour, EndpointLimit: 2, Circuit: strict}, true)
	for range events {
		publish(t, db, business, "", `{}`)
	}
	backlog := func() schema.Backlog {
		b, err := schema.ReadBacklog(context.Background(), db)
		require.NoError(t, err)
		return b
	}
	eventually(t, "every first attempt is recorded", func() bool {
		list, err := deliveriesdb.New(db).List(context.Background(), business, webhook.Filter{Limit: 100})
		require.NoError(t, err)
		return !slices.ContainsFunc(list, func(d webhook.DeliveryRecord) bool { return d.Attempts == 0 })
	})
	clock.Advance(time.Second)
	eventually(t, "it is probed, and all but two that are under way are given back", func() bool {
		b := backlog()
		return b.OpenCircuits == 1 && b.Held == events-2
	})
	close(known)
	eventually(t, "the two are recorded", func() bool { return backlog().Held == events })
	attempts := len(sink.Arrivals())
	require.LessOrEqual(t, attempts, events+3, "probes do not use the attempts of other deliveries")
	for _, pause := range []time.Duration{1, 2, 4} {
		clock.Advance(pause * time.Second)
		attempts++
		eventually(t, "the probe is recorded",
			func() bool { return len(sink.Arrivals()) == attempts && backlog().Held == events })
	}
	well.Store(true)
	clock.Advance(4 * time.Second)
	eventually(t, "all are delivered, except those whose last attempts were probes", func() bool {
		b := backlog()
		list, err := deliveriesdb.New(db).List(context.Background(), business,
			webhook.Filter{State: webhook.Delivered, Limit: 100})
		require.NoError(t, err)
		recorded := len(list) == int(accepted.Load()) // otherwise the lease of one in progress would end below
		return recorded && len(list) >= events-3 && b.OpenCircuits == 0 && b.Held+b.Due == 0 && b.Scheduled <= 3
	})
	clock.Advance(time.Minute)
	eventually(t, "all is delivered", func() bool { b := backlog(); return b.Scheduled+b.Due+b.Held == 0 })
	require.Equal(t, int64(events), accepted.Load())
}
