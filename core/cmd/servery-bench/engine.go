package main

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	deliveriesdb "github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/requests"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

// engine is the delivering half of the hub within this process, and a business whose orders are posted to the sink.
type engine struct {
	*fixture
	tenant   hubtest.Tenant
	business core.BusinessID
	receiver webhook.Subscription
	sender   *webhook.Sender
	queue    *countedQueue
	stop     context.CancelFunc // nil while it does not run
	running  sync.WaitGroup
}

// countedQueue is the hub's queue. It counts the recorded attempts.
type countedQueue struct {
	deliveriesdb.Store
	recorded atomic.Int64
	wanted   int64
	complete chan struct{} // closed when as many are recorded as wanted
}

// Finish records attempts (webhook.Queue).
func (q *countedQueue) Finish(ctx context.Context, owner core.ID, results []webhook.Result,
	rules webhook.CircuitRules) (queue.FinishResult, error) {
	effect, err := q.Store.Finish(ctx, owner, results, rules)
	if err == nil {
		now := q.recorded.Add(int64(len(results)))
		if before := now - int64(len(results)); before < q.wanted && now >= q.wanted {
			close(q.complete)
		}
	}
	return effect, err
}

// unobserved ignores what an engine does (webhook.Observer).
type unobserved struct{}

func (unobserved) Attempted(webhook.Result, time.Duration) {}

// engine adds a business to a database. Nothing is delivered before start.
func (f *fixture) engine(units webhook.Units) *engine {
	r, e := f.run, &engine{fixture: f}
	e.tenant = hubtest.Business(r, e.db)
	e.business = e.tenant.ID
	e.receiver = hubtest.SubscribeAs(r, e.db, webhook.Subscription{Business: e.business, EventType: core.OrderPlaced,
		URL: e.sink.url, Units: units})
	e.sender = webhook.NewSender(webhook.SenderConfig{UserAgent: "Servery/1 (webhooks)"},
		webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), e.db.Clock())
	r.Cleanup(e.sender.Close)
	r.Cleanup(e.halt)
	return e
}

// start begins to deliver, after which so many attempts are to be recorded.
func (e *engine) start(wanted int) {
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.queue = &countedQueue{Store: deliveriesdb.New(e.db), wanted: int64(wanted), complete: make(chan struct{})}
	engine := webhook.NewEngine(webhook.Config{}, webhook.Dependencies{Queue: e.queue, Poster: e.sender,
		Clock: e.db.Clock(), Observer: unobserved{}, Log: hubtest.Logger()})
	outbox.UseStarter(e.db, engine)
	e.running.Go(func() { engine.Run(ctx) })
	e.running.Go(func() {
		e.db.Listen(ctx, map[string]func(string){outbox.DeliveriesChannel: outbox.OnDeliveries(e.db, engine.Wake)})
	})
}

func (e *engine) halt() {
	if e.stop != nil {
		e.stop()
		e.running.Wait()
		e.stop = nil
		outbox.UseStarter(e.db, nil)
	}
}

// awaitRecorded waits until the wanted attempts have been recorded.
func (e *engine) awaitRecorded(wait time.Duration) {
	select {
	case <-e.queue.complete:
	case <-e.ctx.Done():
		check(e.ctx.Err())
	case <-time.After(wait):
		verify(false, "only %d of %d attempts were recorded within %v", e.queue.recorded.Load(), e.queue.wanted, wait)
	}
}

// event is an event of 1 KB that is due at once.
func (e *engine) event(n int) core.Event { return e.eventOf(core.OrderPlaced, n) }

func (e *engine) eventOf(event core.EventType, n int) core.Event {
	now := e.db.Clock().Now()
	return core.Event{ID: core.NewID(now), Business: e.business, Type: event, At: now, Body: requests.Event(n)}
}

// publishers is how many goroutines publish at once.
const publishers = 16

func (e *engine) publish(all ...core.Event) { check(outbox.NewPublisher(e.db).Publish(e.ctx, all...)) }

// fill stores n events, many in a transaction, for which only their number counts.
func (e *engine) fill(n int, event func(i int) core.Event) {
	const together = 500
	inParallel((n+together-1)/together, 2, func(part int) {
		var events []core.Event
		for i := part * together; i < min((part+1)*together, n); i++ {
			events = append(events, event(i))
		}
		e.publish(events...)
	})
}

// drain works the queue off, and returns how many a second were delivered and recorded.
func (e *engine) drain(n int) float64 {
	e.sink.reset(0)
	defer e.halt()
	began := time.Now()
	e.start(n)
	e.awaitRecorded(time.Minute)
	return float64(n) / time.Since(began).Seconds()
}

// fillAndDrain is drain of n events to one endpoint.
func (e *engine) fillAndDrain(n int) float64 {
	e.fill(n, e.event)
	return e.drain(n)
}

// publishAndDeliver publishes n events one by one, and returns how many a second were stored and arrived.
func (e *engine) publishAndDeliver(n int) float64 {
	e.sink.reset(0)
	e.start(n)
	defer e.halt()
	began := time.Now()
	inParallel(n, publishers, func(i int) { e.publish(e.event(i)) })
	arrived := rate(e.sink.await("/hook", n, 30*time.Second), began)
	e.awaitRecorded(10 * time.Second)
	return arrived
}

// verifyHistory verifies that the queue is empty, and how much the history contains.
func (e *engine) verifyHistory(deliveries, attempts int) {
	e.verifyCount(0, `SELECT count(*) FROM delivery_queue`)
	e.verifyCount(deliveries, `SELECT count(*) FROM deliveries WHERE state = 'delivered'`)
	e.verifyCount(attempts, `SELECT count(*) FROM attempts`)
	e.verifyCount(deliveries, `SELECT count(DISTINCT delivery_id) FROM attempts`)
}

// forgetQueue removes what is pending, and what is known of failing endpoints.
func (e *engine) forgetQueue() {
	e.execute(`DELETE FROM delivery_queue; DELETE FROM endpoint_circuits`)
}
