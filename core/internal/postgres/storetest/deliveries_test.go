package storetest

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

// noObserver is an observer that does nothing.
type noObserver struct{}

func (noObserver) Attempted(webhook.Result, time.Duration)      {}
func (noObserver) JobEnded(core.JobKind, string, time.Duration) {}
func (noObserver) Answered(string, string, int, time.Duration)  {}

// claimUpTo returns the capacity of an idle replica.
func claimUpTo(deliveries, bodies int) webhook.Capacity {
	return webhook.Capacity{Capacity: queue.Capacity{Items: deliveries}, Bodies: bodies}
}

func publish(t *testing.T, db *postgres.DB, business core.BusinessID, callbackURL string, body string) core.Event {
	t.Helper()
	now := db.Clock().Now()
	event := core.Event{ID: core.NewID(now), Business: business, Type: core.StoreCreation, At: now, Body: []byte(body),
		CallbackURL: callbackURL}
	require.NoError(t, outbox.NewPublisher(db).Publish(context.Background(), event))
	return event
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, what)
}

func history(t *testing.T, db *postgres.DB, event core.ID) []pgtest.AttemptRecord {
	t.Helper()
	records, err := pgtest.Attempts(context.Background(), db, event)
	require.NoError(t, err)
	return records
}

func TestDeliveryIsRetriedOnScheduleThenFails(t *testing.T) {
	for _, units := range []webhook.Units{webhook.Seconds, webhook.Minutes} {
		t.Run(string(units), func(t *testing.T) {
			clock := clocktest.New()
			db := hubtest.Database(t, clock)
			tenant := hubtest.Business(t, db)
			sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
			sub := hubtest.SubscribeAs(t, db, webhook.Subscription{Business: tenant.ID,
				EventType: core.StoreCreation, URL: sink.URL, Units: units})
			engine, _ := startEngine(t, db, webhook.Config{Poll: 10000 * time.Hour}, true)
			event := publish(t, db, tenant.ID, "", `{"n":1}`)
			recorded := func(n int) func() bool { return func() bool { return len(history(t, db, event.ID)) == n } }
			eventually(t, "first attempt", recorded(1))
			for n, wait := range units.Schedule().Waits() {
				clock.Advance(wait - time.Millisecond)
				engine.Wake() // a claim before the due time finds nothing
				clock.Advance(0)
				require.Len(t, history(t, db, event.ID), n+1, "not before its time")
				clock.Advance(time.Millisecond)
				eventually(t, "retry", recorded(n+2))
			}
			clock.Advance(1000 * time.Hour)
			engine.Wake()
			attempts := history(t, db, event.ID)
			require.Len(t, attempts, webhook.Minutes.Schedule().Attempts)
			require.Equal(t, "failed", attempts[0].State)
			for i, a := range attempts {
				require.Equal(t, i+1, a.N)
				require.Equal(t, 503, a.Status)
				require.Equal(t, "status", a.ErrorClass)
			}
			for _, arrival := range sink.Arrivals() {
				require.Equal(t, event.ID.String(), arrival.Header.Get("webhook-id"), "one id over all attempts")
			}
			require.Equal(t, sink.URL, sub.URL)
			requireQueueEmpty(t, db)
		})
	}
}

func requireQueueEmpty(t *testing.T, db *postgres.DB) {
	t.Helper()
	backlog, err := schema.ReadBacklog(context.Background(), db)
	require.NoError(t, err)
	require.Zero(t, backlog.Due+backlog.Scheduled+backlog.Held)
}

func TestDeliveryGoesToEverySubscription(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant, otherBusiness := hubtest.Business(t, db), hubtest.Business(t, db)
	one, two, foreign := hubtest.NewSink(t, nil), hubtest.NewSink(t, nil), hubtest.NewSink(t, nil)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, one.URL)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, two.URL)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.OrderPlaced, two.URL)
	hubtest.SubscribeSeconds(t, db, otherBusiness.ID, core.StoreCreation, foreign.URL)
	startEngine(t, db, webhook.Config{}, true)
	event := publish(t, db, tenant.ID, "", `{}`)
	eventually(t, "both recorded", func() bool { return len(history(t, db, event.ID)) == 2 })
	require.Len(t, one.Arrivals(), 1)
	require.Len(t, two.Arrivals(), 1)
	require.Empty(t, foreign.Arrivals())
}

func TestCallbackURLReceivesDeliverySignedByTheBusiness(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	subscribed, callback := hubtest.NewSink(t, nil), hubtest.NewSink(t, nil)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, subscribed.URL)
	startEngine(t, db, webhook.Config{}, true)
	event := publish(t, db, tenant.ID, callback.URL, `{"big":"`+strings.Repeat("x", 1<<20)+`"}`)
	eventually(t, "recorded", func() bool { return len(history(t, db, event.ID)) == 1 })
	require.Empty(t, subscribed.Arrivals())
	arrival := callback.Arrivals()[0]
	seconds, err := strconv.ParseInt(arrival.Header.Get("webhook-timestamp"), 10, 64)
	require.NoError(t, err)
	signature, err := webhook.Sign(tenant.CallbackSecret, event.ID, time.Unix(seconds, 0), arrival.Body)
	require.NoError(t, err)
	require.Equal(t, signature, arrival.Header.Get("webhook-signature"))
}

func TestGoneResponseDisablesWebhookAndHoldsItsDeliveries(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	gone := true
	var mu sync.Mutex
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if gone {
			w.WriteHeader(http.StatusGone)
		}
	})
	sub := hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, sink.URL)
	engine, _ := startEngine(t, db, webhook.Config{Poll: time.Hour}, true)
	event := publish(t, db, tenant.ID, "", `{}`)
	eventually(t, "attempt", func() bool { return len(history(t, db, event.ID)) == 1 })
	off, err := webhooksdb.New(db).Get(ctx, tenant.ID, sub.ID)
	require.NoError(t, err)
	require.False(t, off.Active)
	require.Contains(t, off.DisabledReason, "410")
	shown, err := consoleview.New(db).Endpoint(ctx, tenant.ID, sub.ID)
	require.NoError(t, err)
	require.WithinDuration(t, clock.Now(), shown.DisabledAt, time.Millisecond)

	publish(t, db, tenant.ID, "", `{"nothing new":"the webhook is switched off"}`)
	clock.Advance(2 * time.Second)
	engine.Wake()
	eventually(t, "held", func() bool {
		backlog, err := schema.ReadBacklog(ctx, db)
		return err == nil && backlog.Held == 1 && backlog.Due+backlog.Scheduled == 0
	})
	require.Len(t, sink.Arrivals(), 1)

	mu.Lock()
	gone = false
	mu.Unlock()
	subs := webhook.Subscriptions{Store: webhooksdb.New(db), Guard: webhook.NewGuard(nil), Clock: clock}
	on := true
	require.NoError(t, subs.Update(ctx, tenant.ID, "test", sub.ID, webhook.Input{Active: &on}))
	engine.Wake()
	eventually(t, "delivered after switching on", func() bool { return len(history(t, db, event.ID)) == 2 })
	again, err := webhooksdb.New(db).Get(ctx, tenant.ID, sub.ID)
	require.NoError(t, err)
	require.Empty(t, again.DisabledReason)
	requireQueueEmpty(t, db)
}

func TestAnotherReplicaTakesOverExpiredLeases(t *testing.T) {
	clock := clocktest.New()
	url := hubtest.DatabaseURL(t)
	dying, living := hubtest.Open(t, url, clock), hubtest.Open(t, url, clock)
	tenant := hubtest.Business(t, dying)
	sink := hubtest.NewSink(t, nil)
	hubtest.SubscribeSeconds(t, dying, tenant.ID, core.StoreCreation, sink.URL)
	// A starter that reserves but never starts acts like a replica killed between commit and attempt.
	outbox.UseStarter(dying, deadReplica{clock})
	event := publish(t, dying, tenant.ID, "", `{}`)
	startEngine(t, living, webhook.Config{Poll: time.Hour, Lease: 20 * time.Second}, false)
	require.Empty(t, sink.Arrivals())
	clock.Advance(20*time.Second - time.Millisecond)
	require.Empty(t, history(t, living, event.ID))
	clock.Advance(time.Millisecond)
	eventually(t, "taken over by another replica", func() bool { return len(history(t, living, event.ID)) == 1 })
}

type deadReplica struct{ clock core.Clock }

func (deadReplica) Owner() core.ID          { return core.ID{1} }
func (d deadReplica) LeaseUntil() time.Time { return d.clock.Now().Add(20 * time.Second) }
func (deadReplica) Reserve(int64) bool      { return true }
func (deadReplica) CancelReservation(int64) {}
func (deadReplica) Start(webhook.Delivery)  {}
func (deadReplica) Invalidate(int64, int64) {}
func (deadReplica) Wake()                   {}

func TestStopFinishesInFlightDeliveriesAndReleasesOthers(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	sink := hubtest.NewSink(t, func(int, http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, sink.URL)
	_, stop := startSending(t, db, patient, webhook.Config{EndpointLimit: 2}, true)
	for range 6 {
		publish(t, db, tenant.ID, "", `{}`)
	}
	<-arrived
	<-arrived
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	eventually(t, "four deliveries released", func() bool {
		backlog, err := schema.ReadBacklog(context.Background(), db)
		return err == nil && backlog.Due == 4
	})
	close(release)
	<-stopped
	require.Len(t, sink.Arrivals(), 2)
	backlog, err := schema.ReadBacklog(context.Background(), db)
	require.NoError(t, err)
	require.Equal(t, int64(4), backlog.Due)
	require.Zero(t, backlog.Scheduled, "nothing is left leased")

	startEngine(t, db, webhook.Config{}, false)
	eventually(t, "the next engine does the rest",
		func() bool { return len(sink.Distinct(webhook.HeaderID)) == 6 })
	eventually(t, "recorded", func() bool {
		backlog, err := schema.ReadBacklog(context.Background(), db)
		return err == nil && backlog.Due+backlog.Scheduled == 0
	})
}

func TestHangingEndpointDelaysOnlyItsOwnDeliveries(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	release := make(chan struct{})
	hanging := hubtest.NewSink(t, func(int, http.ResponseWriter, *http.Request) { <-release })
	healthy := hubtest.NewSink(t, nil)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, hanging.URL)
	hubtest.SubscribeSeconds(t, db, tenant.ID, core.StoreCreation, healthy.URL)
	startSending(t, db, patient, webhook.Config{Capacity: 256}, true)
	t.Cleanup(func() { close(release) }) // before the engine stops
	const events = 600
	for range events {
		publish(t, db, tenant.ID, "", `{}`)
	}
	eventually(t, "the healthy endpoint got everything", func() bool {
		return len(healthy.Distinct(webhook.HeaderID)) == events
	})
	require.LessOrEqual(t, len(hanging.Arrivals()), 3*16)
}

func TestBinaryResponsesAreRecorded(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Odd", "\xff\xfe \\ \t 'quote'")
		w.WriteHeader(500)
		_, _ = w.Write([]byte("\x00\xff\\N\t\n"))
	})
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, sink.URL)
	startEngine(t, db, webhook.Config{}, true)
	event := publish(t, db, tenant.ID, "", `{}`)
	eventually(t, "recorded", func() bool { return len(history(t, db, event.ID)) == 1 })
}

func TestRepeatedDeliveryResultsAreRecordedOnce(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	for range 3 {
		publish(t, db, tenant.ID, "", `{}`)
	}
	queue, owner, now := deliveries.New(db), core.ID{9}, db.Clock().Now()
	batch, err := queue.Claim(ctx, owner, claimUpTo(10, 1<<20),
		now.Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, batch.Items, 3)
	results := make([]webhook.Result, 3)
	for i, d := range batch.Items {
		results[i] = webhook.Result{Delivery: d, State: webhook.Delivered,
			Attempt: webhook.Attempt{StartedAt: now, Status: 200}}
	}
	results[1].State, results[1].RetryAt, results[1].Attempt.Status = webhook.Pending, now, 500
	for _, part := range [][]webhook.Result{results[:2], results} { // the response to the first COMMIT was lost
		_, err = queue.Finish(ctx, owner, part, webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
		require.NoError(t, err)
		batch, err := queue.Claim(ctx, owner, claimUpTo(10, 1<<20), now.Add(2*time.Minute))
		require.NoError(t, err)
		require.Len(t, batch.Items, 3-len(part), "the next attempt is claimed once")
	}
	for _, d := range batch.Items {
		require.Len(t, history(t, db, d.EventID), 1)
	}
	late := results[1] // another attempt, by a replica that was paused meanwhile
	late.Attempt.StartedAt = now.Add(time.Second)
	_, err = queue.Finish(ctx, core.ID{8}, []webhook.Result{late},
		webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
	require.NoError(t, err)
	require.Len(t, history(t, db, late.Delivery.EventID), 2)
}

func TestRejectedResultDoesNotBlockTheOtherResults(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	for range 5 {
		publish(t, db, tenant.ID, "", `{}`)
	}
	queue, owner := deliveries.New(db), core.ID{9}
	batch, err := queue.Claim(ctx, owner, claimUpTo(10, 1<<20),
		db.Clock().Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, batch.Items, 5)
	results := make([]webhook.Result, 5)
	for i, d := range batch.Items {
		results[i] = webhook.Result{Delivery: d, State: webhook.Delivered,
			Attempt: webhook.Attempt{StartedAt: db.Clock().Now(), Status: 200}}
	}
	results[2].Attempt.Status = 1 << 20 // out of range for smallint
	_, err = queue.Finish(ctx, owner, results, webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
	require.NoError(t, err)
	for i, d := range batch.Items {
		want := 1
		if i == 2 {
			want = 0
		}
		require.Len(t, history(t, db, d.EventID), want)
	}
}

func TestAttemptSentTwiceIsRecorded(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	publish(t, db, tenant.ID, "", `{}`)
	store, owner := deliveries.New(db), core.ID{9}
	for n, twice := range []bool{true, false} {
		batch, err := store.Claim(ctx, owner, claimUpTo(10, 1<<20), db.Clock().Now().Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, batch.Items, 1)
		_, err = store.Finish(ctx, owner, []webhook.Result{{Delivery: batch.Items[0], State: webhook.Pending,
			RetryAt: db.Clock().Now(), Attempt: webhook.Attempt{StartedAt: db.Clock().Now(), Status: 500,
				ErrorClass: webhook.Status, SentTwice: twice}}},
			webhook.CircuitRules{FailureThreshold: 20, MinDuration: time.Minute})
		require.NoError(t, err)
		_, attempts, err := store.Get(ctx, tenant.ID, batch.Items[0].ID)
		require.NoError(t, err)
		require.Equal(t, twice, attempts[n].SentTwice)
	}
}
