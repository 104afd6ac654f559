package hub

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestResubscribingEnablesAnAutomaticallyDisabledWebhook(t *testing.T) {
	a := newAPI(t, unlimited)
	a.start(t)
	var status atomic.Int64
	status.Store(http.StatusGone)
	sink := hubtest.NewEventSink(t,
		func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	d := &menuClient{a, t, hubtest.Business(t, a.hub.db), sink}
	subscribe := func(more string) apiResponse {
		return d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"store_creation","url":%q%s}`, sink.URL, more))
	}
	made := subscribe("")
	require.Equal(t, true, made.body["active"])
	webhook := webhooksRoute + fmt.Sprint(int64(made.body["webhook_id"].(float64))) + "/"
	read := func() map[string]any { return d.ok("GET", webhook, "").body }
	gone := func() {
		t.Helper()
		d.ok("POST", storesRoute, oneStore)
		hubtest.WaitUntil(t, "switched off", func() bool { return read()["active"] == false })
		require.Contains(t, read()["disabled_reason"], "410")
	}

	gone()
	status.Store(http.StatusOK)
	again := subscribe("")
	require.Equal(t, []any{true, made.body["webhook_id"]}, []any{again.body["active"], again.body["webhook_id"]})
	require.Regexp(t, "existed for this event_type and url, enabled after .* 410 Gone", again.message())
	require.NotContains(t, read(), "disabled_reason")
	n := len(sink.Arrivals())
	d.ok("POST", storesRoute, oneStore)
	d.awaitCallback(n + 1)
	require.NotContains(t, subscribe("").message(), "on again", "it was on")

	d.ok("PUT", webhook, `{"active":false}`)
	off := subscribe(`,"active":null`)
	require.Equal(t, false, off.body["active"], "who switched it off is who switches it on")
	require.Contains(t, off.message(), "disabled until active is true")
	require.Equal(t, false, read()["active"])
	require.Equal(t, true, subscribe(`,"active":true`).body["active"])

	status.Store(http.StatusGone)
	gone()
	d.ok("PUT", webhook, `{"active":false}`)
	require.NotContains(t, read(), "disabled_reason")
	require.Equal(t, false, subscribe("").body["active"], "it was said after the hub switched it off")
}

func TestCallbackURLFollowsTheWebhookURLRules(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	const timings = "/external/api/v1/inventory/categories/timing-groups/"
	for _, c := range []struct{ path, body string }{
		{webhooksRoute, `{"event_type":"store_creation","url":"ADDRESS"}`},
		{storesRoute, `{"stores":[{"ref_id":"s1","name":"N","city":"C"}],"callback_url":"ADDRESS"}`},
		{menuRoute + "-1/", `{"items":[],"callback_url":"ADDRESS"}`},
		{timings, `{"timing_groups":[{"title":"Gone","category_ref_ids":[],"day_slots":[]}],"callback_url":"ADDRESS"}`},
	} {
		send := func(address string) apiResponse {
			return a.do(t, request{method: "POST", path: c.path, authorization: tenant.Authorization,
				body: strings.Replace(c.body, "ADDRESS", address, 1)})
		}
		field := "callback_url"
		if c.path == webhooksRoute {
			field = "url"
		}
		for _, address := range []string{"http://10.0.0.1/", "http://192.168.1.5:8080/hooks", "https://[fd00::1]/",
			"http://169.254.169.254/"} {
			requireEnvelope(t, send(address), 400, field+" must be on the public internet")
		}
		for _, address := range []string{"https://pos.example.com/hooks", "http://127.0.0.1:9/allowed"} {
			r := send(address)
			require.Equal(t, 200, r.status, r.text)
		}
	}
}
