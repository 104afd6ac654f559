package storetest

import (
	"context"
	"fmt"
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
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

var lenient = webhook.CircuitRules{FailureThreshold: 1 << 20, MinDuration: time.Hour}

// orderingHarness is a business with two webhooks at one server: one path for placed orders, one for
// status changes.
type orderingHarness struct {
	t              *testing.T
	db             *postgres.DB
	clock          *clocktest.Clock
	business       core.BusinessID
	placed, status webhook.Subscription
}

func newOrderingHarness(t *testing.T) *orderingHarness {
	t.Helper()
	c := &orderingHarness{t: t, clock: clocktest.New()}
	c.db = hubtest.Database(t, c.clock)
	c.business = hubtest.Business(t, c.db).ID
	c.placed = hubtest.SubscribeSeconds(t, c.db, c.business, core.OrderPlaced, "http://pos.example:80/placed")
	c.status = hubtest.SubscribeSeconds(t, c.db, c.business, core.OrderStatusUpdate, "http://POS.example/status")
	return c
}

func orderEvent(db *postgres.DB, business core.BusinessID, order int64, sequence int) core.Event {
	now := db.Clock().Now()
	e := core.Event{
		ID: core.NewID(now), Business: business, Type: core.OrderStatusUpdate, At: now, OrderID: order,
		Sequence: sequence,
		Body:     fmt.Appendf(nil, `{"order":%d,"place":%d}`, order, sequence),
	}
	if sequence == 1 {
		e.Type = core.OrderPlaced
	}
	return e
}

func (c *orderingHarness) publish(order int64, sequences ...int) {
	c.t.Helper()
	for _, sequence := range sequences {
		c.clock.Advance(time.Millisecond)
		require.NoError(c.t, outbox.NewPublisher(c.db).Publish(context.Background(),
			orderEvent(c.db, c.business, order, sequence)))
	}
}

// claim leases deliveries and names them by order and sequence number.
func (c *orderingHarness) claim() (core.ID, map[string]webhook.Delivery) {
	c.t.Helper()
	owner, claimed := claimAll(c.t, c.db)
	named := map[string]webhook.Delivery{}
	for _, d := range claimed {
		var order, sequence int
		_, err := fmt.Sscanf(string(d.Body), `{"order":%d,"place":%d}`, &order, &sequence)
		require.NoError(c.t, err)
		named[fmt.Sprintf("%d/%d", order, sequence)] = d
	}
	return owner, named
}

// requireClaimable claims and requires that exactly these deliveries start; they stay leased.
func (c *orderingHarness) requireClaimable(expected ...string) (core.ID, map[string]webhook.Delivery) {
	c.t.Helper()
	owner, named := c.claim()
	var names []string
	for name := range named {
		names = append(names, name)
	}
	require.ElementsMatch(c.t, expected, names)
	return owner, named
}

func (c *orderingHarness) finish(owner core.ID, state webhook.State,
	deliveries ...webhook.Delivery) queue.FinishResult {
	c.t.Helper()
	var results []webhook.Result
	for _, d := range deliveries {
		now := c.clock.Now()
		r := webhook.Result{Delivery: d, State: state, RetryAt: now.Add(time.Second),
			Attempt: webhook.Attempt{StartedAt: now, Status: 200, URL: d.URL}}
		if state != webhook.Delivered {
			r.Attempt.Status, r.Attempt.ErrorClass, r.Attempt.Error = 400, webhook.Status, "no"
		}
		results = append(results, r)
	}
	outlook, err := deliveriesdb.New(c.db).Finish(context.Background(), owner, results, lenient)
	require.NoError(c.t, err)
	return outlook
}

func (c *orderingHarness) switchTo(sub webhook.Subscription, on bool) {
	c.t.Helper()
	err := webhooksdb.New(c.db).Change(context.Background(), c.business, "test", sub.ID,
		func(s *webhook.Subscription) error {
			s.Active = on
			return nil
		})
	require.NoError(c.t, err)
}

func TestAServerIsSchemeHostAndPort(t *testing.T) {
	db := hubtest.Database(t, nil)
	business := hubtest.Business(t, db).ID
	for address, server := range map[string]string{
		"https://pos.example/a":           "https://pos.example",
		"https://pos.example":             "https://pos.example",
		"https://pos.example?c=d":         "https://pos.example",
		"HTTPS://POS.example:443/":        "https://pos.example",
		"https://pos.example:/x":          "https://pos.example",
		"https://pos.example:444/a:443":   "https://pos.example:444",
		"https://pos.example:80/":         "https://pos.example:80",
		"http://pos.example:80/a":         "http://pos.example",
		"http://pos.example:443":          "http://pos.example:443",
		"http://[2001:db8::80]/":          "http://[2001:db8::80]",
		"http://[2001:db8::80]:80/a?x=/b": "http://[2001:db8::80]",
	} {
		sub := hubtest.SubscribeSeconds(t, db, business, core.OrderPlaced, address)
		var found string
		pgtest.Row(t, db, &found, `SELECT server FROM webhooks WHERE id = ?`, sub.ID)
		require.Equal(t, server, found, address)
	}
	servers, err := webhooksdb.New(db).Servers(context.Background(), 100)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"https://pos.example", "https://pos.example:444", "https://pos.example:80", "http://pos.example",
		"http://pos.example:443", "http://[2001:db8::80]",
	}, servers, "each server once, also with a URL in capitals")
}

func TestOrderEventWaitsForThePreviousToFinish(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2, 3)
	c.publish(2, 1)
	owner, first := c.requireClaimable("1/1", "2/1")
	c.requireClaimable()
	require.True(t, c.finish(owner, webhook.Delivered, first["1/1"], first["2/1"]).Due)
	owner, second := c.requireClaimable("1/2")
	require.False(t, c.finish(owner, webhook.Pending, second["1/2"]).Due)
	c.requireClaimable()
	c.clock.Advance(time.Second)
	owner, second = c.requireClaimable("1/2")
	require.True(t, c.finish(owner, webhook.Failed, second["1/2"]).Due, "failed after the last attempt")
	owner, third := c.requireClaimable("1/3")
	c.publish(1, 4)
	c.requireClaimable()
	c.finish(owner, webhook.Delivered, third["1/3"])
	owner, fourth := c.requireClaimable("1/4")
	c.finish(owner, webhook.Delivered, fourth["1/4"])
	requireQueueEmpty(t, c.db)
}

func TestEventsOfOneTransactionKeepTheirOrder(t *testing.T) {
	c := newOrderingHarness(t)
	events := []core.Event{orderEvent(c.db, c.business, 1, 1), orderEvent(c.db, c.business, 1, 2),
		orderEvent(c.db, c.business, 2, 1)}
	require.NoError(t, outbox.NewPublisher(c.db).Publish(context.Background(), events...))
	owner, first := c.requireClaimable("1/1", "2/1")
	c.finish(owner, webhook.Delivered, first["1/1"])
	c.requireClaimable("1/2")
}

func TestEachServerHasItsOwnSequence(t *testing.T) {
	c := newOrderingHarness(t)
	hubtest.SubscribeSeconds(t, c.db, c.business, core.OrderStatusUpdate, "http://kitchen.example/status")
	c.publish(1, 1, 2)
	owner, first := c.requireClaimable("1/1", "1/2")
	require.Equal(t, "http://kitchen.example/status", first["1/2"].URL)
	c.finish(owner, webhook.Delivered, first["1/1"])
	_, second := c.requireClaimable("1/2")
	require.Equal(t, c.status.URL, second["1/2"].URL)
}

func TestNextEventWaitsForEveryEarlierDelivery(t *testing.T) {
	c := newOrderingHarness(t)
	hubtest.SubscribeSeconds(t, c.db, c.business, core.OrderPlaced, "http://pos.example/again")
	c.publish(1, 1, 2)
	owner, claimed := claimAll(t, c.db)
	require.Len(t, claimed, 2)
	require.False(t, c.finish(owner, webhook.Delivered, claimed[0]).Due)
	c.requireClaimable()
	require.True(t, c.finish(owner, webhook.Delivered, claimed[1]).Due)
	c.requireClaimable("1/2")
}

func TestDisabledWebhookDoesNotBlockOtherOrderEvents(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2)
	c.publish(2, 1)
	owner, first := c.requireClaimable("1/1", "2/1")
	c.finish(owner, webhook.Pending, first["1/1"], first["2/1"])
	c.publish(2, 2) // waits for a retry
	c.requireClaimable()
	c.switchTo(c.placed, false)
	c.clock.Advance(time.Second)
	c.requireClaimable() // finds the webhook switched off and releases the others
	owner, next := c.requireClaimable("1/2", "2/2")
	c.publish(3, 2, 3)
	owner3, other := c.requireClaimable("3/2")
	c.finish(owner3, webhook.Delivered, other["3/2"])
	c.requireClaimable("3/3")
	c.switchTo(c.placed, true)
	c.finish(owner, webhook.Delivered, next["1/2"], next["2/2"])
	c.requireClaimable("1/1", "2/1")
}

func TestEnablingAWebhookKeepsTheSequence(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2, 3)
	owner, first := c.requireClaimable("1/1")
	c.requireClaimable()
	c.switchTo(c.status, false)
	c.switchTo(c.status, true)
	c.requireClaimable()
	c.finish(owner, webhook.Delivered, first["1/1"])
	c.switchTo(c.status, false)
	c.requireClaimable()
	c.switchTo(c.status, true)
	owner, second := c.requireClaimable("1/2")
	c.finish(owner, webhook.Delivered, second["1/2"])
	c.requireClaimable("1/3")
}

func TestManualRetryKeepsTheSequence(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	queue := deliveriesdb.New(c.db)
	c.publish(1, 1, 2)
	owner, first := c.requireClaimable("1/1")
	c.finish(owner, webhook.Pending, first["1/1"])
	held, err := queue.List(ctx, c.business, webhook.Filter{State: webhook.Held, Limit: 10})
	require.NoError(t, err)
	require.Len(t, held, 1)
	require.Equal(t, "an earlier event of the same order is not delivered yet", held[0].HeldMessage)
	err = queue.Retry(ctx, c.business, held[0].ID)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.ErrorContains(t, err, "earlier event")
	c.requireClaimable()
	require.NoError(t, queue.Retry(ctx, c.business, first["1/1"].ID))
	owner, first = c.requireClaimable("1/1")
	c.finish(owner, webhook.Failed, first["1/1"])
	owner, second := c.requireClaimable("1/2")
	require.NoError(t, queue.Retry(ctx, c.business, first["1/1"].ID), "nothing is before it")
	c.requireClaimable("1/1")
	c.finish(owner, webhook.Delivered, second["1/2"])
}

func TestReleaseAndLostLeaseKeepTheSequence(t *testing.T) {
	c := newOrderingHarness(t)
	c.publish(1, 1, 2)
	owner, first := c.requireClaimable("1/1")
	require.NoError(t, deliveriesdb.New(c.db).Release(context.Background(), owner, []webhook.Delivery{first["1/1"]}))
	_, first = c.requireClaimable("1/1") // its owner disappears
	c.publish(1, 3)
	c.clock.Advance(20 * time.Second)
	owner, again := c.requireClaimable("1/1")
	c.finish(core.ID{1}, webhook.Failed, first["1/1"]) // by an owner that has lost the lease
	c.requireClaimable()
	c.finish(owner, webhook.Delivered, again["1/1"])
	_, second := c.requireClaimable("1/2")
	require.Equal(t, 2, second["1/2"].Sequence)
}

func TestCrashAtEveryStatementLeavesNoDeliveryStuck(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	queue := deliveriesdb.New(c.db)
	for n := 1; ; n++ {
		c.publish(int64(10*n), 1, 2, 3)
		c.publish(int64(10*n+1), 1, 2)
		broken := pgtest.BreakAt(c.db, n)
		owner := core.NewID(c.clock.Now())
		for range 3 {
			batch, err := queue.Claim(ctx, owner, claimUpTo(512, 1<<20),
				c.clock.Now().Add(20*time.Second))
			if err != nil {
				break
			}
			var results []webhook.Result
			for _, d := range batch.Items {
				results = append(results,
					webhook.Result{Delivery: d, State: webhook.Delivered,
						Attempt: webhook.Attempt{StartedAt: c.clock.Now(), Status: 200}})
			}
			if _, err := queue.Finish(ctx, owner, results, lenient); err != nil {
				break
			}
		}
		if !broken() {
			require.Greater(t, n, 15)
			return
		}
		sequence := map[int64]int{}
		for range 5 { // leases from before the crash expire
			owner, rest := c.claim()
			for name, d := range rest {
				require.Greater(t, d.Sequence, sequence[d.OrderingKey], name)
				sequence[d.OrderingKey] = d.Sequence
				c.finish(owner, webhook.Delivered, d)
			}
			c.clock.Advance(20 * time.Second)
		}
		requireQueueEmpty(t, c.db)
	}
}

func TestFailedClaimReturnsItsLeasesForRelease(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	queue := deliveriesdb.New(c.db)
	for n := 1; ; n++ {
		first, second := fmt.Sprintf("%d/1", n), fmt.Sprintf("%d/2", n)
		c.publish(int64(n), 1, 2)
		broken := pgtest.BreakAt(c.db, n)
		batch, err := queue.Claim(ctx, core.ID{1}, claimUpTo(512, 1<<20), c.clock.Now().Add(20*time.Second))
		if !broken() {
			require.Greater(t, n, 5)
			return
		}
		if err == nil { // only the next due time is missing
			require.Len(t, batch.Items, 1)
		}
		require.NoError(t, queue.Release(ctx, core.ID{1}, batch.Items))
		owner, claimed := c.requireClaimable(first)
		c.finish(owner, webhook.Delivered, claimed[first])
		owner, claimed = c.requireClaimable(second)
		c.finish(owner, webhook.Delivered, claimed[second])
	}
}

func TestSweepUnblocksDeliveriesWithoutAPredecessor(t *testing.T) {
	c, ctx := newOrderingHarness(t), context.Background()
	c.publish(1, 1, 2, 3)
	c.publish(2, 1, 2)
	_, _ = c.requireClaimable("1/1", "2/1")
	pgtest.Exec(t, c.db, `DELETE FROM delivery_queue WHERE sequence = 1 AND ordering_key = 1`)
	c.requireClaimable()
	require.NoError(t, outbox.Sweep(ctx, c.db))
	c.requireClaimable("1/2")
	require.NoError(t, outbox.Sweep(ctx, c.db))
	c.requireClaimable()
}

// observingStarter starts nothing. It calls a function when it is woken.
type observingStarter struct {
	deadReplica
	woken func()
}

func (o observingStarter) Wake() { o.woken() }

func TestWakeFollowsTheCommitThatUnblocks(t *testing.T) {
	for name, removeFirst := range map[string]func(c *orderingHarness){
		"its webhook is disabled": func(c *orderingHarness) { c.switchTo(c.placed, false) },
		"its event has expired": func(c *orderingHarness) {
			pgtest.Exec(c.t, c.db, `DELETE FROM events WHERE event_type = ?`, core.OrderPlaced)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newOrderingHarness(t)
			c.publish(1, 1, 2)
			owner, first := c.requireClaimable("1/1")
			c.finish(owner, webhook.Pending, first["1/1"])
			removeFirst(c)
			c.clock.Advance(time.Second)
			found := []int{}
			outbox.UseStarter(c.db, observingStarter{deadReplica{c.clock}, func() {
				var n int
				pgtest.Row(t, c.db, &n, `SELECT count(*) FROM delivery_queue WHERE sequence = 2 AND NOT blocked`)
				found = append(found, n)
			}})
			c.requireClaimable()
			require.Equal(t, []int{1}, found, "a claim at the wake-up finds the next delivery")
			c.requireClaimable("1/2")
		})
	}
}
