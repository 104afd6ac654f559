package hub

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/retry"
)

const deliveriesRoute = "/external/api/v1/deliveries/"

func TestDeliveriesAreReadAndResentThroughTheAPI(t *testing.T) {
	a := newAPI(t, unlimited)
	a.start(t)
	var status atomic.Int64
	status.Store(503)
	sink := hubtest.NewEventSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Trace", "t-1")
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, "busy\xff")
	})
	d := &menuClient{a, t, hubtest.Business(t, a.hub.db), sink}
	made := d.ok("POST", webhooksRoute,
		fmt.Sprintf(`{"event_type":"store_creation","url":%q,"headers":{"X-Token":"hush"},`+
			`"retrial_interval_units":"seconds"}`, sink.URL))
	webhookID := fmt.Sprint(int64(made.body["webhook_id"].(float64)))
	accepted := d.ok("POST", storesRoute, oneStore)
	list := func(query string) []any { return d.ok("GET", deliveriesRoute+query, "").body["deliveries"].([]any) }
	attempts := func(n float64) func() bool {
		return func() bool { l := list(""); return len(l) == 1 && l[0].(map[string]any)["attempts"] == n }
	}
	hubtest.WaitUntil(t, "first attempt", attempts(1))
	waiting := list("?state=pending&event_type=60014&webhook_id=" + webhookID + "&reference=" +
		accepted.body["reference"].(string))[0].(map[string]any)
	require.Equal(t, []any{"pending", 503.0, sink.URL}, []any{waiting["state"], waiting["last_status"], waiting["url"]})
	require.Contains(t, waiting["last_error"], "503")
	schedule := retry.Default(time.Second)
	require.Equal(t, a.clock.Now().Add(schedule.FirstWait).Format(time.RFC3339), waiting["next_attempt_at"])
	for _, query := range []string{"?state=failed", "?state=held", "?state=delivered", "?event_type=order_placed",
		"?webhook_id=999", "?reference=other"} {
		require.Empty(t, list(query), query)
	}
	id := waiting["id"].(string)

	d.ok("POST", deliveriesRoute+id+"/retry/", "")
	hubtest.WaitUntil(t, "hastened", attempts(2))
	for n, wait := range schedule.Waits()[1:] {
		a.clock.Advance(wait)
		a.hub.engine.Wake()
		hubtest.WaitUntil(t, "retry", attempts(float64(n+3)))
	}
	require.Len(t, list("?state=failed"), 1)

	status.Store(200)
	d.ok("POST", deliveriesRoute+id+"/retry", "")
	hubtest.WaitUntil(t, "delivered", func() bool { return len(list("?state=delivered")) == 1 })
	one := d.ok("GET", deliveriesRoute+id+"/", "")
	all := one.body["attempt_list"].([]any)
	require.Len(t, all, schedule.Attempts+1)
	first, last := all[0].(map[string]any), all[schedule.Attempts].(map[string]any)
	require.Equal(t, []any{1.0, 503.0, "status", "busy\uFFFD", "t-1"},
		[]any{first["attempt"], first["status"], first["error_class"], first["response_body"],
			first["response_headers"].(map[string]any)["X-Trace"]})
	require.Equal(t, []any{float64(schedule.Attempts + 1), 200.0}, []any{last["attempt"], last["status"]})
	require.NotContains(t, one.text, "hush")
	for _, arrival := range sink.Arrivals() {
		require.Equal(t, one.body["event_id"], arrival.Header.Get("webhook-id"))
	}

	d.ok("PUT", webhooksRoute+webhookID, `{"active":false}`)
	requireEnvelope(t, d.send("POST", deliveriesRoute+id+"/retry/", ""), 409, "is disabled")
	stranger := hubtest.Business(t, a.hub.db)
	foreign := func(method, path string) apiResponse {
		return a.do(t, request{method: method, path: path, authorization: stranger.Authorization})
	}
	requireEnvelope(t, foreign("GET", deliveriesRoute+id+"/"), 404, "no delivery")
	requireEnvelope(t, foreign("POST", deliveriesRoute+id+"/retry/"), 404, "no delivery")
	require.Empty(t, foreign("GET", deliveriesRoute).body["deliveries"])
	requireEnvelope(t, d.send("GET", deliveriesRoute+"nonsense/", ""), 404, "no delivery")
	for _, query := range []string{"?state=lost", "?limit=0", "?after=x", "?event_type=x", "?webhook_id=x"} {
		requireEnvelope(t, d.send("GET", deliveriesRoute+query, ""), 400, "must be")
	}
}

func TestDeliveriesAreListedInPages(t *testing.T) {
	d := newMenuClient(t, unlimited)
	for n := range 4 {
		d.ok("POST", storesRoute, oneStore)
		d.awaitCallback(n + 2)
	}
	hubtest.WaitUntil(t, "recorded", func() bool {
		return len(d.ok("GET", deliveriesRoute+"?state=delivered", "").body["deliveries"].([]any)) == 5
	})
	seen, after := map[any]bool{}, ""
	for range 3 {
		page := d.ok("GET", deliveriesRoute+"?limit=2"+after, "")
		for _, delivery := range page.body["deliveries"].([]any) {
			seen[delivery.(map[string]any)["id"]] = true
		}
		next, _ := page.body["meta"].(map[string]any)["next"].(string)
		after = "&after=" + next
	}
	require.Equal(t, "&after=", after)
	require.Len(t, seen, 5)
}
