package storetest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// crashingReplica is a starter that reserves but never starts, like a replica that was killed after
// the commit. Its leases are short.
type crashingReplica struct{ deadReplica }

func (c crashingReplica) LeaseUntil() time.Time { return c.clock.Now().Add(200 * time.Millisecond) }

// receiver is a server that checks the sequence of each order's events.
type receiver struct {
	t        *testing.T
	sink     *hubtest.Sink
	mu       sync.Mutex
	accepted map[int64]int // last accepted sequence number by order
	headless bool          // the first event of an order may arrive after the second
	mayFail  bool          // earlier events may have failed permanently; early lists the orders to check
	early    []int64
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{t: t, accepted: map[int64]int{}}
	r.sink = hubtest.NewSink(t, r.respond)
	return r
}

func (r *receiver) at(path string) string { return strings.TrimSuffix(r.sink.URL, "/hook") + path }

func (r *receiver) respond(n int, w http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/failing" { // later events may overtake it
		return
	}
	var event struct {
		Order int64
		Place int
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !assert.NoError(r.t, json.Unmarshal(r.sink.Arrivals()[n-1].Body, &event)) {
		return
	}
	switch {
	case r.headless && event.Place == 2:
	case r.mayFail && event.Place > r.accepted[event.Order]+1:
		r.early = append(r.early, event.Order)
	default:
		assert.LessOrEqual(r.t, event.Place, r.accepted[event.Order]+1, "order %d", event.Order)
	}
	if rand.IntN(20) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.accepted[event.Order] = max(r.accepted[event.Order], event.Place)
}

// complete reports whether every order has reached the given sequence number.
func (r *receiver) complete(orders int64, sequences int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for order := int64(1); order <= orders; order++ {
		if r.accepted[order] < sequences {
			return false
		}
	}
	return true
}

// TestRacingReplicasKeepTheOrderOfEvents publishes on three replicas to two servers that
// sometimes fail. One replica never starts its deliveries. Meanwhile one webhook is switched
// off and on, and deliveries are resent.
func TestRacingReplicasKeepTheOrderOfEvents(t *testing.T) {
	const orders, sequences = 60, 6
	ctx, url := context.Background(), hubtest.DatabaseURL(t)
	dbs := []*postgres.DB{hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil), hubtest.Connect(t, url, nil)}
	business := hubtest.Business(t, dbs[0]).ID
	one, two := newReceiver(t), newReceiver(t)
	for _, r := range []*receiver{one, two} {
		hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderPlaced, r.at("/placed"))
		hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderStatusUpdate, r.at("/status"))
	}
	failing := hubtest.SubscribeSeconds(t, dbs[0], business, core.OrderStatusUpdate, one.at("/failing"))
	turn := func(on bool) error {
		return webhooksdb.New(dbs[1]).Change(ctx, business, "test", failing.ID,
			func(s *webhook.Subscription) error {
				s.Active = on
				return nil
			})
	}
	startEngine(t, dbs[0], webhook.Config{Poll: 50 * time.Millisecond, EndpointLimit: 4}, true)
	startEngine(t, dbs[1], webhook.Config{Poll: 50 * time.Millisecond}, true)
	outbox.UseStarter(dbs[2], crashingReplica{deadReplica{dbs[2].Clock()}})

	published, stop := make(chan struct{}), make(chan struct{})
	var meddlers sync.WaitGroup
	meddlers.Go(func() {
		for on := false; ; on = !on {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond):
			}
			assert.NoError(t, turn(on))
		}
	})
	meddlers.Go(func() {
		queue := deliveries.New(dbs[0])
		for {
			select {
			case <-published:
				return
			case <-time.After(10 * time.Millisecond):
			}
			waiting, err := queue.List(ctx, business, webhook.Filter{State: webhook.Pending, Limit: 20})
			assert.NoError(t, err)
			if len(waiting) > 0 {
				_ = queue.Retry(ctx, business, waiting[rand.IntN(len(waiting))].ID) // it may have ended by now
			}
		}
	})
	var publishers sync.WaitGroup
	for order := int64(1); order <= orders; order++ {
		publishers.Go(func() {
			for sequence := 1; sequence <= sequences; sequence++ {
				db := dbs[rand.IntN(len(dbs))]
				if !assert.NoError(t, outbox.NewPublisher(db).Publish(ctx, orderEvent(db, business, order, sequence))) {
					return
				}
			}
		})
	}
	publishers.Wait()
	close(published)
	require.Eventually(t, func() bool { return one.complete(orders, sequences) && two.complete(orders, sequences) },
		90*time.Second, 100*time.Millisecond, "every event of every order arrives")
	close(stop)
	meddlers.Wait()
	require.NoError(t, turn(true))
	require.Eventually(t, func() bool {
		b, err := schema.ReadBacklog(ctx, dbs[0])
		return err == nil && b.Due+b.Scheduled+b.Held == 0
	}, 60*time.Second, 100*time.Millisecond, "nothing is stuck")
}

func TestBlockedDeliveryRechecksAPredecessorBeingDeleted(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1)
	_, _ = c.requireClaimable("1/1")
	c.publish(1, 2) // not yet claimed
	exec, commit := pgtest.BeginOther(t, c.db)
	exec(`DELETE FROM delivery_queue WHERE sequence = 1`)
	c.requireClaimable() // the second sees the first, which is being deleted
	commit()
	c.clock.Advance(time.Second)
	c.requireClaimable("1/2")
}

func TestLastOfTwoConcurrentFinishesUnblocksTheNext(t *testing.T) {
	c := newOrderingHarness(t)
	hubtest.SubscribeSeconds(t, c.db, c.business, core.OrderPlaced, "http://pos.example/again")
	c.publish(1, 1, 2)
	owner, claimed := claimAll(t, c.db)
	require.Len(t, claimed, 2)
	c.requireClaimable()
	exec, commit := pgtest.BeginOther(t, c.db)
	exec(`DELETE FROM delivery_queue WHERE id = ?`, claimed[0].ID)
	exec(`SELECT FROM delivery_queue WHERE sequence = 2 FOR UPDATE`)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.finish(owner, webhook.Delivered, claimed[1])
	}()
	eventually(t, "the second waits for the first", func() bool {
		select {
		case <-ended:
			return true
		default:
			return pgtest.HasWaiters(t, c.db)
		}
	})
	commit()
	<-ended
	c.requireClaimable("1/2")
}
