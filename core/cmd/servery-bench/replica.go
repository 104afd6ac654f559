package main

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// replica is the delivering half of the hub within this process, wired as the
// hub wires it, on a fresh database with one business whose orders are posted
// to a sink.
type replica struct {
	db       *postgres.DB
	floor    *floorDatabase
	sink     *sink
	business core.BusinessID
	receiver webhook.Subscription
	sender   *webhook.Sender
	queue    *watchedQueue

	stop    context.CancelFunc // of the engine; nil while it does not run
	running sync.WaitGroup
}

// watchedQueue is the hub's queue, counting what has been recorded and what
// its transactions cost.
type watchedQueue struct {
	postgres.Deliveries
	recorded atomic.Int64
	wanted   int64
	complete chan struct{} // closed when as many are recorded as are wanted

	mu               sync.Mutex
	claims, finishes []float64 // milliseconds of each that brought or recorded something
}

// Claim leases deliveries (webhook.Queue).
func (q *watchedQueue) Claim(ctx context.Context, owner core.ID, room webhook.Room, until time.Time) (webhook.Batch, error) {
	began := time.Now()
	batch, err := q.Deliveries.Claim(ctx, owner, room, until)
	if len(batch.Deliveries) > 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.claims = append(q.claims, inMilliseconds(time.Since(began)))
	}
	return batch, err
}

// Finish records attempts (webhook.Queue).
func (q *watchedQueue) Finish(ctx context.Context, owner core.ID, results []webhook.Result, rules webhook.Probing) (webhook.Outlook, error) {
	began := time.Now()
	outlook, err := q.Deliveries.Finish(ctx, owner, results, rules)
	if err == nil {
		q.mu.Lock()
		q.finishes = append(q.finishes, inMilliseconds(time.Since(began)))
		q.mu.Unlock()
		now := q.recorded.Add(int64(len(results)))
		if before := now - int64(len(results)); before < q.wanted && now >= q.wanted {
			close(q.complete)
		}
	}
	return outlook, err
}

// cost tells how many transactions there were and how long they took.
func (q *watchedQueue) cost() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return fmt.Sprintf("%d claims of %.1f ms, %d records of %.1f ms", len(q.claims), median(q.claims), len(q.finishes), median(q.finishes))
}

// nobody observes nothing (webhook.Observer).
type nobody struct{}

// Attempted is told of an attempt (webhook.Observer).
func (nobody) Attempted(webhook.Result, time.Duration) {}

// openReplica brings up database, sink and sender; nothing is delivered before start.
func openReplica(ctx context.Context, b *bench, name string, units webhook.Units) (r *replica, err error) {
	r = &replica{}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	address, err := b.pg.fresh(ctx, name)
	if err != nil {
		return r, err
	}
	if r.db, err = openSchema(ctx, address, b.log); err != nil {
		return r, err
	}
	if r.floor, err = openFloor(address, publishers); err != nil {
		return r, err
	}
	if r.sink, err = startSink(ctx); err != nil {
		return r, err
	}
	who, err := newTenant(ctx, r.db)
	if err != nil {
		return r, err
	}
	r.business = who.business
	guard := webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	r.sender = webhook.NewSender(webhook.SenderConfig{UserAgent: "Servery/1 (webhooks)"}, guard, r.db.Clock())
	r.receiver, err = subscribe(ctx, r.db, r.business, core.OrderPlaced, r.sink.url, units)
	return r, err
}

// start begins to deliver; the queue is complete when wanted attempts have
// been recorded.
func (r *replica) start(b *bench, wanted int) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.queue = &watchedQueue{Deliveries: postgres.Deliveries{DB: r.db}, wanted: int64(wanted), complete: make(chan struct{})}
	engine := webhook.NewEngine(webhook.Config{}, r.queue, r.sender, r.db.Clock(), nobody{}, b.log)
	r.db.UseStarter(engine)
	r.running.Go(func() { engine.Run(ctx) })
	r.running.Go(func() { r.db.Listen(ctx, func() {}, engine.Wake, func() {}, func() {}) })
}

// awaitRecorded waits until all that is wanted has been recorded.
func (r *replica) awaitRecorded(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.queue.complete:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("only %d of %d attempts were recorded within %v", r.queue.recorded.Load(), r.queue.wanted, wait)
	}
}

// halt stops delivering; the database stays open.
func (r *replica) halt() {
	if r.stop == nil {
		return
	}
	r.stop()
	r.running.Wait()
	r.stop = nil
	r.db.UseStarter(nil)
}

// event is an event of 1 KB that is due at once.
func (r *replica) event(n int) core.Event {
	now := r.db.Clock().Now()
	return core.Event{ID: core.NewID(now), Business: r.business, Type: core.OrderPlaced, At: now, Body: payload(n)}
}

// publishers is how many goroutines publish at once.
const publishers = 16

// publish stores n events one by one from many goroutines.
func (r *replica) publish(ctx context.Context, n int) error {
	return inParallel(n, publishers, func(i int) error { return r.db.Publish(ctx, r.event(i)) })
}

// together is how many events are stored in one transaction where only their
// number counts.
const together = 500

// publishTogether stores n events, many in one transaction.
func (r *replica) publishTogether(ctx context.Context, n int, event func(i int) core.Event) error {
	return inParallel((n+together-1)/together, 2, func(part int) error {
		events := make([]core.Event, 0, together)
		for i := part * together; i < min((part+1)*together, n); i++ {
			events = append(events, event(i))
		}
		return r.db.Publish(ctx, events...)
	})
}

// check makes sure that nothing is left to do and that the history holds as
// many deliveries and attempts as there should be.
func (r *replica) check(ctx context.Context, deliveries, attempts int) error {
	for _, table := range []struct {
		query string
		want  int
	}{
		{`SELECT count(*) FROM delivery_queue`, 0},
		{`SELECT count(*) FROM deliveries WHERE state = 'delivered'`, deliveries},
		{`SELECT count(*) FROM attempts`, attempts},
		{`SELECT count(DISTINCT delivery_id) FROM attempts`, deliveries},
	} {
		got, err := r.floor.count(ctx, table.query)
		if err != nil {
			return err
		}
		if got != int64(table.want) {
			return fmt.Errorf("%s is %d, not %d", table.query, got, table.want)
		}
	}
	return nil
}

func (r *replica) close() {
	r.halt()
	if r.sender != nil {
		r.sender.Close()
	}
	if r.sink != nil {
		r.sink.close()
	}
	if r.floor != nil {
		r.floor.close()
	}
	if r.db != nil {
		_ = r.db.Close()
	}
}
