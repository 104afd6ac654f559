package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/retry"
	"github.com/servery-hub/servery/web"
)

const retryRoute = "/external/api/v1/webhooks/retry/"

// retryClient is a menuClient whose endpoint for orders returns a configurable status.
type retryClient struct {
	*menuClient
	channel string
	status  atomic.Int64 // of every response; 0 hangs until the hub times out
	orders  *hubtest.Sink
	hook    int64 // the webhook for orders
}

func newRetryClient(t *testing.T, change func(*Config)) *retryClient {
	t.Helper()
	c := &retryClient{menuClient: newMenuClient(t, func(config *Config) {
		retry := config.Limits[web.LimitRetry]
		unlimited(config)
		config.Limits[web.LimitRetry] = retry
		if change != nil {
			change(config)
		}
	})}
	c.status.Store(503)
	c.channel = hubtest.ChannelKey(t, c.hub.db, c.tenant.ID, "")
	c.orders = hubtest.NewEventSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		status := int(c.status.Load())
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
	})
	made := c.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":18,"url":%q}`, c.orders.URL))
	c.hook = int64(made.body["webhook_id"].(float64))
	return c
}

// place places orders and waits for the first attempt of each, and for its record if it fails.
func (c *retryClient) place(ids ...string) {
	c.t.Helper()
	before, recorded := len(c.orders.Arrivals()), len(c.pendingDeliveries(1))
	for _, id := range ids {
		r := c.do(c.t, request{method: "POST", path: channelOrdersRoute, authorization: c.channel,
			body: fmt.Sprintf(`{"platform":"web","platform_order_id":%q,"store_ref_id":"s1","items":[{"ref_id":"x",`+
				`"quantity":1,"price":1}]}`, id)})
		require.Equal(c.t, 200, r.status, r.text)
	}
	hubtest.WaitUntil(c.t, "first attempts", func() bool { return len(c.orders.Arrivals()) >= before+len(ids) })
	hubtest.WaitUntil(c.t, "their records",
		func() bool { return len(c.pendingDeliveries(1)) >= recorded+len(ids) || c.status.Load() < 300 })
}

// pendingDeliveries returns the deliveries of orders that are pending after so many attempts.
func (c *retryClient) pendingDeliveries(attempts float64) (list []any) {
	for _, d := range c.ok("GET", deliveriesRoute+"?event_type=order_placed&state=pending",
		"").body["deliveries"].([]any) {
		if hubtest.Lookup(d, "attempts") == attempts {
			list = append(list, d)
		}
	}
	return list
}

func (c *retryClient) retry(from, to time.Time) apiResponse {
	c.t.Helper()
	return c.send("POST", retryRoute,
		fmt.Sprintf(`{"event_type":18,"start_time":%d,"end_time":%d}`, from.UnixMilli(), to.UnixMilli()))
}

// awaitOutcome waits for the callback of an order retry. It returns the numbers of resent and of failed deliveries.
func (c *retryClient) awaitOutcome(sink *hubtest.Sink, r apiResponse) (retried, failed float64) {
	c.t.Helper()
	require.Equal(c.t, 200, r.status, r.text)
	reference := r.body["reference"].(string)
	require.Equal(c.t, reference, r.body["reference_id"])
	var body map[string]any
	hubtest.WaitUntil(c.t, "the callback", func() bool {
		c.clock.Advance(time.Millisecond) // the job polls the deliveries
		for _, arrival := range sink.Arrivals() {
			if arrival.Header.Get("X-Event-Type") == "webhook_retry" {
				require.NoError(c.t, json.Unmarshal(arrival.Body, &body))
				if body["reference_id"] == reference {
					return true
				}
			}
		}
		c.clock.Advance(20 * time.Millisecond) // slowly, so that automatic retries do not become due
		return false
	})
	job := c.ok("GET", "/external/api/v1/jobs/"+reference+"/", "").body
	require.Equal(c.t, []any{"done", "order_retry", body["num_webhooks_retried"], body["num_webhooks_retry_failed"]},
		[]any{job["state"], job["kind"], hubtest.Lookup(job, "result.retried"), hubtest.Lookup(job, "result.failed")})
	return body["num_webhooks_retried"].(float64), body["num_webhooks_retry_failed"].(float64)
}

func (c *retryClient) subscribeToOutcomes() *hubtest.Sink {
	c.t.Helper()
	sink := hubtest.NewEventSink(c.t, nil)
	c.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"webhook_retry","url":%q}`, sink.URL))
	return sink
}

func TestOrderRetrySendsUndeliveredOrders(t *testing.T) {
	c := newRetryClient(t, nil)
	outcomes := c.subscribeToOutcomes()
	start := c.clock.Now()
	c.place("1", "2", "3")
	c.clock.Advance(10 * time.Second) // the automatic retry is due in a minute
	c.status.Store(200)
	c.place("4")

	retried, failed := c.awaitOutcome(outcomes, c.retry(start, c.clock.Now()))
	require.Equal(t, []float64{3, 0}, []float64{retried, failed}, "what was accepted is not sent again")
	require.Len(t, c.orders.Arrivals(), 7)
	ids := map[string]int{}
	for _, arrival := range c.orders.Arrivals() {
		ids[arrival.Header.Get("webhook-id")]++
	}
	require.Len(t, ids, 4, "the webhook-id stays the same")

	retried, _ = c.awaitOutcome(outcomes, c.retry(start, c.clock.Now()))
	require.Zero(t, retried, "all are accepted by now")
	r := c.retry(start, c.clock.Now())
	requireEnvelope(t, r, 429, "at most 2 in 1h0m0s")
	require.Equal(t, "0", r.header.Get("RateLimit-Remaining"))
}

func TestOrderRetryIsLimitedToItsTimeRange(t *testing.T) {
	c := newRetryClient(t, nil)
	outcomes := c.subscribeToOutcomes()
	c.place("early")
	c.clock.Advance(time.Second)
	from := c.clock.Now()
	c.place("first")
	c.clock.Advance(time.Second)
	c.place("last")
	c.clock.Advance(time.Second)
	to := c.clock.Now()
	c.place("late")
	c.status.Store(200)
	retried, failed := c.awaitOutcome(outcomes, c.retry(from, to))
	require.Equal(t, []float64{2, 0}, []float64{retried, failed})
	require.Len(t, c.pendingDeliveries(1), 2, "the others keep their schedule")
}

func TestFailedOrderRetryIsCountedAndStaysScheduled(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int64{"a refusal": 500, "a timeout": 0} {
		t.Run(name, func(t *testing.T) {
			c := newRetryClient(t, nil)
			outcomes := c.subscribeToOutcomes()
			start := c.clock.Now()
			c.place("1", "2")
			c.status.Store(status)
			r := c.retry(start, c.clock.Now().Add(time.Second))
			// The clock stands still until a request that hangs is recorded: it would move past the lease.
			hubtest.WaitUntil(t, "the records", func() bool { return len(c.pendingDeliveries(2)) == 2 })
			retried, failed := c.awaitOutcome(outcomes, r)
			require.Equal(t, []float64{2, 2}, []float64{retried, failed})
			require.Len(t, c.pendingDeliveries(2), 2)
			c.status.Store(200)
		})
	}
}

func TestOrderRetryRestartsFailedDeliveries(t *testing.T) {
	c := newRetryClient(t, nil)
	outcomes := c.subscribeToOutcomes()
	start := c.clock.Now()
	c.place("1")
	schedule := retry.Default(time.Minute)
	for n, wait := range schedule.Waits() {
		hubtest.WaitUntil(t, "the record", func() bool { return len(c.pendingDeliveries(float64(n+1))) == 1 })
		c.clock.Advance(wait)
		c.hub.engine.Wake()
		hubtest.WaitUntil(t, "attempt", func() bool { return len(c.orders.Arrivals()) >= n+2 })
	}
	hubtest.WaitUntil(t, "the end", func() bool {
		return len(c.ok("GET", deliveriesRoute+"?state=failed", "").body["deliveries"].([]any)) == 1
	})
	retried, failed := c.awaitOutcome(outcomes, c.retry(start, c.clock.Now()))
	require.Equal(t, []float64{1, 1}, []float64{retried, failed})
	require.Len(t, c.pendingDeliveries(float64(schedule.Attempts+1)), 1, "with its schedule from the beginning")
	c.status.Store(200)
	retried, failed = c.awaitOutcome(outcomes, c.retry(start, c.clock.Now()))
	require.Equal(t, []float64{1, 0}, []float64{retried, failed})
}

func TestRetryOutcomeFallsBackToTheOrderWebhook(t *testing.T) {
	c := newRetryClient(t, nil)
	start := c.clock.Now()
	c.place("1")
	c.status.Store(200)
	retried, failed := c.awaitOutcome(c.orders, c.retry(start, c.clock.Now().Add(time.Second)))
	require.Equal(t, []float64{1, 0}, []float64{retried, failed})
}

func TestOrderRetrySkipsDisabledWebhooks(t *testing.T) {
	c := newRetryClient(t, nil)
	outcomes := c.subscribeToOutcomes()
	start := c.clock.Now()
	c.place("1", "2")
	c.ok("PUT", fmt.Sprintf("%s%d/", webhooksRoute, c.hook), `{"active":false}`)
	retried, failed := c.awaitOutcome(outcomes, c.retry(start, c.clock.Now().Add(time.Second)))
	require.Equal(t, []float64{0, 0}, []float64{retried, failed})
	require.Len(t, c.orders.Arrivals(), 2)
}

func TestOrderRetryIsLimitedToTheCurrentDay(t *testing.T) {
	c := newRetryClient(t, nil)
	now := c.clock.Now()
	clipped := c.retry(now.Add(-48*time.Hour), now)
	require.Equal(t, 200, clipped.status, clipped.text)
	require.Contains(t, clipped.message(), "the window was clipped: only orders of the current day, since ")
	requireEnvelope(t, c.retry(now.Add(-48*time.Hour), now.Add(-30*time.Hour)), 400,
		"end_time must be after the start of the current day")
	requireEnvelope(t, c.send("POST", retryRoute, `{"event_type":18}`), 429, "at most 2")
	c.clock.Advance(time.Hour - time.Second)
	requireEnvelope(t, c.retry(now, c.clock.Now()), 429, "retry in 1 s")
	c.clock.Advance(time.Second)
	require.Equal(t, 200, c.retry(now, c.clock.Now()).status, "the sliding hour has a place again")
}

func TestJobsThatResendRecordWhoAskedForThem(t *testing.T) {
	c := newRetryClient(t, nil)
	retried := c.retry(c.clock.Now().Add(-time.Hour), c.clock.Now())
	resent := c.ok("POST", deliveriesRoute+"retry/", `{"filter":{}}`)
	for _, job := range []apiResponse{retried, resent} {
		var actor string
		require.NoError(t, c.hub.db.Bun().NewRaw(`SELECT actor FROM jobs WHERE id = ?`,
			job.body["reference"]).Scan(t.Context(), &actor), job.text)
		require.Equal(t, "key:pos", actor)
	}
}
