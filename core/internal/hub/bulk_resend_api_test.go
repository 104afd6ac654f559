package hub

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// newRejectingClient returns a menuClient whose endpoint rejects everything until accepts is set.
func newRejectingClient(t *testing.T) (d *menuClient, accepts *atomic.Bool) {
	t.Helper()
	a := newAPI(t, unlimited)
	a.start(t)
	accepts = &atomic.Bool{}
	sink := hubtest.NewEventSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !accepts.Load() {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	return &menuClient{a, t, hubtest.Business(t, a.hub.db), sink}, accepts
}

func (d *menuClient) subscribe(event core.EventType) string {
	d.t.Helper()
	made := d.ok("POST", webhooksRoute,
		fmt.Sprintf(`{"event_type":%q,"url":%q,"retrial_interval_units":"seconds"}`, event, d.sink.URL))
	return fmt.Sprint(int64(made.body["webhook_id"].(float64)))
}

func (d *menuClient) deliveries(query string) []any {
	d.t.Helper()
	return d.ok("GET", deliveriesRoute+query, "").body["deliveries"].([]any)
}

func TestSampleEventIsSentOnlyToItsWebhook(t *testing.T) {
	d, accepts := newRejectingClient(t)
	for _, event := range core.EventTypes() {
		d.subscribe(event)
	}
	id := d.subscribe(core.OrderPlaced)
	other := d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, d.sink.URL+"/other"))
	sent := d.ok("POST", webhooksRoute+id+"/test/", "")
	require.Equal(t, id, fmt.Sprint(int64(sent.body["webhook_id"].(float64))))
	query := "?reference=" + sent.body["reference"].(string)
	hubtest.WaitUntil(t, "first attempt",
		func() bool { l := d.deliveries(query); return len(l) == 1 && l[0].(map[string]any)["attempts"] == 1.0 })
	accepts.Store(true)
	d.ok("POST", deliveriesRoute+d.deliveries(query)[0].(map[string]any)["id"].(string)+"/retry/", "")
	hubtest.WaitUntil(t, "delivered", func() bool { return len(d.deliveries(query+"&state=delivered")) == 1 })
	arrivals := d.sink.Arrivals()
	require.Len(t, arrivals, 2)
	for _, arrival := range arrivals {
		require.Equal(t, "true", arrival.Header.Get("X-Event-Test"))
		require.Equal(t, "order_placed", arrival.Header.Get("X-Event-Type"))
		require.NotEmpty(t, arrival.Header.Get("Webhook-Signature"))
	}

	otherID := fmt.Sprint(int64(other.body["webhook_id"].(float64)))
	d.ok("PUT", webhooksRoute+otherID, `{"active":false}`)
	requireEnvelope(t, d.send("POST", webhooksRoute+otherID+"/test/", ""), 409, "is disabled")
	requireEnvelope(t, d.send("POST", webhooksRoute+"99999/test/", ""), 404, "no webhook")
	stranger := hubtest.Business(t, d.hub.db)
	requireEnvelope(t, d.do(t,
		request{method: "POST", path: webhooksRoute + id + "/test/", authorization: stranger.Authorization}), 404,
		"no webhook")
	require.Len(t, d.sink.Arrivals(), 2)
}

func TestRealEventHasNoTestHeader(t *testing.T) {
	d := newMenuClient(t, unlimited)
	d.ok("POST", storesRoute, oneStore)
	d.awaitCallback(2)
	require.Empty(t, d.sink.Arrivals()[1].Header.Values("X-Event-Test"))
}

func TestBulkResendThroughTheAPI(t *testing.T) {
	d, accepts := newRejectingClient(t)
	id := d.subscribe(core.StoreCreation)
	for range 3 {
		d.ok("POST", webhooksRoute+id+"/test/", "")
	}
	attempted := func(n float64, l []any) bool {
		for _, delivery := range l {
			if delivery.(map[string]any)["attempts"] != n {
				return false
			}
		}
		return len(l) == 3
	}
	hubtest.WaitUntil(t, "first attempts", func() bool { return attempted(1, d.deliveries("?state=pending")) })
	retry := deliveriesRoute + "retry/"
	counted := d.ok("POST", retry+"?dry_run=true", `{"filter":{"state":"pending"}}`)
	require.Equal(t, 3.0, counted.body["count"])
	require.NotContains(t, counted.body, "reference")
	require.Equal(t, 0.0, d.ok("POST", retry+"?dry_run=true", `{"filter":{}}`).body["count"], "none has failed")

	accepts.Store(true)
	done := func(response apiResponse) func() bool {
		return func() bool {
			return d.ok("GET", "/external/api/v1/jobs/"+response.body["reference"].(string)+"/",
				"").body["state"] == "done"
		}
	}
	hastened := d.ok("POST", retry, `{"filter":{"state":"pending","event_type":"store_creation","webhook_id":`+id+`}}`)
	hubtest.WaitUntil(t, "the job is done", done(hastened))
	hubtest.WaitUntil(t, "delivered", func() bool { return attempted(2, d.deliveries("?state=delivered")) })
	first := d.deliveries("?state=delivered")[0].(map[string]any)
	again := d.ok("POST", retry, fmt.Sprintf(`{"ids":[%q,"01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7ab"]}`, first["id"]))
	require.Equal(t, 1.0, again.body["count"])
	hubtest.WaitUntil(t, "the job is done", done(again))
	job := d.ok("GET", "/external/api/v1/jobs/"+again.body["reference"].(string)+"/", "")
	require.Equal(t, []any{"redelivery", 2.0, 2.0},
		[]any{job.body["kind"], job.body["objects_done"], job.body["objects_total"]})
	require.Equal(t, map[string]any{"resent": 1.0, "skipped": 1.0}, job.body["result"], "there is none of the other id")
	hubtest.WaitUntil(t, "sent a third time", func() bool {
		return d.ok("GET", deliveriesRoute+first["id"].(string)+"/", "").body["attempts"] == 3.0
	})
	for _, arrival := range d.sink.Arrivals() {
		require.Equal(t, "true", arrival.Header.Get("X-Event-Test"), "also when sent again")
	}

	d.ok("PUT", webhooksRoute+id, `{"active":false}`)
	skipped := d.ok("POST", retry, `{"filter":{"state":"delivered"}}`)
	hubtest.WaitUntil(t, "the job is done", done(skipped))
	job = d.ok("GET", "/external/api/v1/jobs/"+skipped.body["reference"].(string)+"/", "")
	require.Equal(t, map[string]any{"resent": 0.0, "skipped": 3.0}, job.body["result"])
	requireEnvelope(t, d.send("POST", retry, `{}`), 400, "ids or filter is required")
	requireEnvelope(t, d.send("POST", retry+"?dry_run=maybe", `{"filter":{}}`), 400, "dry_run")
	requireEnvelope(t, d.send("POST", retry, `{"filter":{"state":"held"}}`), 400, "filter.state")
}
