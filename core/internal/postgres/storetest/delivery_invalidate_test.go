package storetest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/webhook"
)

// TestWebhookChangesApplyToUnstartedDeliveries changes a webhook on one replica while another
// has two running attempts and six leased deliveries.
func TestWebhookChangesApplyToUnstartedDeliveries(t *testing.T) {
	const underWay, waiting = 2, 6
	change := func(decide func(*webhook.Subscription, string)) func(*postgres.DB, webhook.Subscription, string) error {
		return func(db *postgres.DB, sub webhook.Subscription, url string) error {
			return webhooksdb.New(db).Change(context.Background(), sub.Business, "test", sub.ID,
				func(s *webhook.Subscription) error {
					decide(s, url)
					return nil
				})
		}
	}
	everything := func(hubtest.Arrival) bool { return true }
	for name, c := range map[string]struct {
		change func(db *postgres.DB, sub webhook.Subscription, url string) error
		comes  func(hubtest.Arrival) bool // nil: nothing
	}{
		"switched off": {change(func(s *webhook.Subscription, _ string) { s.Active = false }), nil},
		"another path": {change(func(s *webhook.Subscription, url string) { s.URL = url + "/new" }),
			func(a hubtest.Arrival) bool { return a.Path == "/hook/new" }},
		"other headers": {change(func(s *webhook.Subscription,
			_ string) {
			s.Headers = map[string]string{"Token": "new"}
		}), func(a hubtest.Arrival) bool { return a.Header.Get("Token") == "new" }},
		"another secret": {rotate,
			func(a hubtest.Arrival) bool { return strings.Contains(a.Header.Get("webhook-signature"), " ") }},
		"nothing": {change(func(s *webhook.Subscription,
			_ string) {
			s.UpdatedAt = s.UpdatedAt.Add(time.Second)
		}), everything},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, url, clock := context.Background(), hubtest.DatabaseURL(t), clocktest.New()
			db, other := hubtest.Open(t, url, clock), hubtest.Open(t, url, clock)
			business := hubtest.Business(t, db).ID
			respond := make(chan struct{})
			goOn := sync.OnceFunc(func() { close(respond) })
			sink := hubtest.NewSink(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
				if n > underWay {
					<-respond
				}
			})
			sub := hubtest.SubscribeSeconds(t, db, business, core.StoreCreation, sink.URL)
			startSending(t, db, patient, webhook.Config{EndpointLimit: underWay, Poll: 10000 * time.Hour}, true)
			listening, silent := context.WithCancel(ctx)
			listened, ended := make(chan struct{}, 100), make(chan struct{})
			go func() {
				defer close(ended)
				db.Listen(listening, map[string]func(string){outbox.DeliveriesChannel: outbox.OnDeliveries(db,
					func() { listened <- struct{}{} })})
			}()
			defer func() { silent(); <-ended }()
			defer goOn()
			<-listened
			for range underWay { // it responds, which raises its concurrency limit
				event := publish(t, db, business, "", `{}`)
				eventually(t, "delivered", func() bool { return len(history(t, db, event.ID)) == 1 })
			}
			for range underWay + waiting {
				publish(t, db, business, "", `{}`)
			}
			leased := func() (n int) {
				pgtest.Row(t, db, &n,
					`SELECT count(*) FROM delivery_queue WHERE owner IS NOT NULL AND available_at = ?`,
					clock.Now().Add(20*time.Second))
				return n
			}
			eventually(t, "under way", func() bool { return len(sink.Arrivals()) == 2*underWay })
			require.Equal(t, underWay+waiting, leased(), "in memory")

			require.NoError(t, c.change(other, sub, sink.URL))
			switch {
			case c.comes == nil:
				eventually(t, "held", func() bool {
					b, err := schema.ReadBacklog(ctx, db)
					return err == nil && b.Held == waiting && leased() == underWay
				})
			case name != "nothing":
				<-listened // released deliveries are claimed again
			}
			goOn()
			came := 2 * underWay
			if c.comes != nil {
				came += waiting
			}
			eventually(t, "all expected deliveries arrived", func() bool {
				b, err := schema.ReadBacklog(ctx, db)
				return err == nil && len(sink.Arrivals()) == came && leased() == 0 && b.Due+b.Scheduled == 0
			})
			for _, a := range sink.Arrivals()[2*underWay:] {
				require.True(t, c.comes(a), "%+v", a)
			}
		})
	}
}

func rotate(db *postgres.DB, sub webhook.Subscription, _ string) error {
	subs := webhook.Subscriptions{Store: webhooksdb.New(db), Overlap: time.Hour, Clock: db.Clock()}
	_, err := subs.Rotate(context.Background(), sub.Business, sub.ID, "test", "")
	return err
}

func TestStaleGoneResponseKeepsAChangedWebhookEnabled(t *testing.T) {
	c := newDeliveryHarness(t)
	gone := func(owner core.ID, d webhook.Delivery) bool {
		_, err := c.queue.Finish(context.Background(), owner,
			[]webhook.Result{{Delivery: d, State: webhook.Pending, RetryAt: c.clock.Now().Add(time.Hour), Disable: true,
				Attempt: webhook.Attempt{StartedAt: c.clock.Now(), Status: 410, ErrorClass: webhook.Gone, Error: "410",
					URL: d.URL}}}, strict)
		require.NoError(t, err)
		sub, err := webhooksdb.New(c.db).Get(context.Background(), c.business, c.sub.ID)
		require.NoError(t, err)
		return !sub.Active
	}
	c.publish(2)
	owner, before, _ := c.claim()
	require.Len(t, before, 2)
	require.True(t, gone(owner, before[0]))
	require.NoError(t, webhooksdb.New(c.db).Change(context.Background(), c.business, "test", c.sub.ID,
		func(s *webhook.Subscription) error {
			s.Active = true
			return nil
		}))
	require.False(t, gone(owner, before[1]))
	c.publish(1)
	owner, after, _ := c.claim()
	require.Len(t, after, 1)
	require.True(t, gone(owner, after[0]))
}

func TestSampleDeliveryBypassesAnOpenCircuit(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	tester := webhook.Tester{Subscriptions: webhooksdb.New(c.db), Publisher: outbox.NewPublisher(c.db),
		Sample: func(core.EventType) []byte { return []byte(`{}`) }, Clock: c.clock}
	_, err := tester.Test(context.Background(), c.business, c.sub.ID)
	require.NoError(t, err)
	_, claimed, _ := c.claim()
	require.Len(t, claimed, 1)
	require.True(t, claimed[0].Test)
}

func TestClaimRespectsEachEndpointsCapacity(t *testing.T) {
	c := newDeliveryHarness(t)
	const each, items = 20, 30
	for i := range 3 * each {
		c.clock.Advance(time.Millisecond)
		publish(t, c.db, c.business, fmt.Sprintf("https://%d.example/", i%3), `{}`)
	}
	endpoints := map[string]int64{}
	claim := func(most map[int64]int, first int) map[string]int {
		batch, err := c.queue.Claim(context.Background(), core.ID{1},
			webhook.Capacity{Bodies: 1 << 20,
				Capacity: queue.Capacity{Items: items, PerKey: most, OtherKeys: first}},
			c.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		got := map[string]int{}
		for _, d := range batch.Items {
			got[d.URL]++
			endpoints[d.URL] = d.Endpoint
		}
		require.NoError(t, c.queue.Release(context.Background(), core.ID{1}, batch.Items))
		return got
	}
	zero, one, two := "https://0.example/", "https://1.example/", "https://2.example/"
	require.Equal(t, map[string]int{zero: 10, one: 10, two: 10}, claim(nil, 0))
	require.Equal(t, map[string]int{zero: 4, one: 4, two: 4}, claim(nil, 4))
	require.Equal(t, map[string]int{zero: 2, one: 14, two: 14}, claim(map[int64]int{endpoints[zero]: 2}, 0))
	require.Equal(t, map[string]int{zero: 2, one: 4, two: 20},
		claim(map[int64]int{endpoints[zero]: 2, endpoints[two]: 500}, 4))
}

// The deliveries of a failing endpoint have waited longest, and fill what a claim looks at first.
func TestFailingEndpointInFrontLeavesOthersTheirTurn(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	const items, others = 32, 40
	c.publish(items)
	for i := range 2 * others {
		c.clock.Advance(time.Millisecond)
		publish(t, c.db, c.business, fmt.Sprintf("https://%d.example/", i%others), `{}`)
	}
	claim := func(items int, known map[int64]int) (endpoints []int64) {
		batch, err := c.queue.Claim(context.Background(), core.ID{1}, webhook.Capacity{Bodies: 1 << 20,
			Capacity: queue.Capacity{Items: items, PerKey: known, OtherKeys: 1}}, c.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		require.NoError(t, c.queue.Release(context.Background(), core.ID{1}, batch.Items))
		for _, d := range batch.Items {
			endpoints = append(endpoints, d.Endpoint)
		}
		return endpoints
	}
	all := claim(512, nil)
	require.Len(t, all, others)
	for _, endpoint := range all { // the search starts at a known endpoint, and continues at the lowest
		got := claim(items, map[int64]int{endpoint: 1})
		require.Len(t, got, items/2)
		require.Contains(t, got, endpoint)
	}
}
