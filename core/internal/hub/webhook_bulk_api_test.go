package hub

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web"
)

const bulkRoute = webhooksRoute + "bulk/"

func TestWebhooksAreCreatedInBulk(t *testing.T) {
	a := newAPI(t, nil)
	tenant := hubtest.Business(t, a.hub.db)
	known := hubtest.Subscribe(t, a.hub.db, tenant.ID, core.StoreCreation, "https://pos.example.com/known")
	const body = `{"webhooks":[
		{"event_type":18,"url":"https://pos.example.com/orders","headers":{"X-Token":"hush"}},
		{"event_type":"store_creation","url":"https://pos.example.com/known","active":false},
		{"event_type":"60013","url":"https://pos.example.com/menus","retrial_interval_units":"seconds"}]}`
	send := func(body string) apiResponse {
		return a.do(t, request{method: "POST", path: bulkRoute, authorization: tenant.Authorization, body: body})
	}
	made := send(body)
	require.Equal(t, 200, made.status, made.text)
	require.Equal(t, "4", made.header.Get("RateLimit-Remaining"), "it counts once")
	require.Regexp(t, "^2 webhooks created, 1 updated; keep the secrets", made.message())
	list := made.body["webhooks"].([]any)
	require.Len(t, list, 3)
	for i, want := range []struct {
		event  string
		secret bool
		active bool
	}{{"order_placed", true, true}, {"store_creation", false, false}, {"inventory_update", true, true}} {
		one := list[i].(map[string]any)
		require.Equal(t, []any{float64(i), want.event, want.active},
			[]any{one["index"], one["event_type"], one["active"]})
		secret, _ := one["secret"].(string)
		require.Equal(t, want.secret, strings.HasPrefix(secret, "whsec_"))
	}
	require.Equal(t, float64(known.ID), hubtest.Lookup(list[1], "webhook_id"))

	again := send(body)
	require.Equal(t, "0 webhooks created, 3 updated", again.message())
	for i := range list {
		require.Equal(t, hubtest.Lookup(list[i], "webhook_id"), hubtest.Lookup(again.body["webhooks"].([]any)[i],
			"webhook_id"))
	}
	require.NotContains(t, again.text, "whsec_")
	read := a.do(t, request{method: "GET", path: webhooksRoute, authorization: tenant.Authorization})
	require.Equal(t, 3.0, hubtest.Lookup(read.body["meta"], "total_count"))
}

func TestBulkWebhookErrorsCreateNothing(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	for n := range webhook.MaxActive {
		hubtest.Subscribe(t, a.hub.db, tenant.ID, core.OrderPlaced, fmt.Sprintf("https://pos.example.com/%d", n))
	}
	const good = `{"event_type":"store_creation","url":"https://pos.example.com/good"}`
	for name, c := range map[string]struct {
		second, path, message string
		status                int
	}{
		"no url":  {`{"event_type":60014}`, "webhooks[1].url", "webhooks[1]: url is required", 400},
		"private": {`{"event_type":60014,"url":"http://10.0.0.1/"}`, "webhooks[1].url", "public internet", 400},
		"header": {`{"event_type":18,"url":"https://a.example","headers":{"Host":"x"}}`,
			"webhooks[1].headers.Host", "", 400},
		"type":      {`{"event_type":18,"url":"https://a.example","active":"yes"}`, "webhooks[1].active", "", 400},
		"no object": {`7`, "webhooks[1]", "must be an object", 400},
		"twice":     {good, "webhooks[1].url", "are the same as in webhooks[0]", 400},
		"event header": {`{"event_type":"webhook_retry","url":"https://a.example","event_type_header":"X-Event",` +
			`"event_type_header_value":"number"}`, "webhooks[1].event_type_header_value", "has no number", 400},
		"too many": {`{"event_type":18,"url":"https://pos.example.com/more"}`, "",
			"webhooks[1]: the business has 100 active webhooks", 409},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.do(t, request{method: "POST", path: bulkRoute, authorization: tenant.Authorization,
				body: `{"webhooks":[` + good + `,` + c.second + `]}`})
			requireEnvelope(t, r, c.status, c.message)
			if c.path != "" {
				require.Equal(t, c.path, hubtest.Lookup(r.body["errors"].([]any)[0], "path"))
			}
		})
	}
	for body, message := range map[string]string{
		`{}`: "webhooks is required", `{"webhooks":[]}`: "at least one", `{"webhooks":{}}`: "must be an array",
		`{"webhooks":[` + strings.Repeat(good+",",
			webhook.MaxBulk) + good + `]}`: "must have at most 50 elements, not 51",
	} {
		requireEnvelope(t, a.do(t, request{method: "POST", path: bulkRoute, authorization: tenant.Authorization,
			body: body}), 400, message)
	}
	read := a.do(t, request{method: "GET", path: webhooksRoute, authorization: tenant.Authorization})
	require.Equal(t, float64(webhook.MaxActive), hubtest.Lookup(read.body["meta"], "total_count"),
		"nothing was created")
}

func TestWebhookSendsTheEventInANamedHeader(t *testing.T) {
	a := newAPI(t, unlimited)
	a.start(t)
	sink := hubtest.NewEventSink(t, nil)
	d := &menuClient{a, t, hubtest.Business(t, a.hub.db), sink}
	made := d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"store_creation","url":%q,"headers":{"X-A":"a"},`+
		`"event_type_header":"X-Hook-Event","event_type_header_value":"Number"}`, sink.URL))
	one := webhooksRoute + fmt.Sprint(int64(made.body["webhook_id"].(float64))) + "/"
	header := func(name string) string {
		n := len(sink.Arrivals())
		d.ok("POST", storesRoute, oneStore)
		d.awaitCallback(n + 1)
		return sink.Arrivals()[n].Header.Get(name)
	}
	require.Equal(t, "60014", header("X-Hook-Event"))
	read := d.ok("GET", one, "").body
	require.Equal(t, []any{"X-Hook-Event", "number"}, []any{read["event_type_header"], read["event_type_header_value"]})

	put := func(body string) apiResponse {
		return a.do(t, request{method: "PUT", path: one, authorization: d.tenant.Authorization, body: body})
	}
	require.Equal(t, 200, put(`{"event_type_header_value":"name"}`).status)
	require.Equal(t, "store_creation", header("X-Hook-Event"))
	require.Equal(t, 200, put(`{"event_type_header":"X-Other","event_type_header_value":null}`).status)
	require.Equal(t, "store_creation", header("X-Other"))
	for body, path := range map[string]string{
		`{"event_type_header":"x-a"}`:              "event_type_header",
		`{"headers":{"x-OTHER":"b"}}`:              "headers.x-OTHER",
		`{"headers":{"X-Event-Type":"other"}}`:     "headers.X-Event-Type",
		`{"headers":{"X-A":"\n"}}`:                 "headers.X-A",
		`{"event_type_header":"webhook-id"}`:       "event_type_header",
		`{"event_type_header":"X-Event-Type"}`:     "event_type_header",
		`{"event_type_header":"two words"}`:        "event_type_header",
		`{"event_type_header_value":"id"}`:         "event_type_header_value",
		`{"event_type_header":["X-Other"]}`:        "event_type_header",
		`{"event_type_header_value":{"a":"name"}}`: "event_type_header_value",
	} {
		r := put(body)
		requireEnvelope(t, r, 400, "")
		require.Equal(t, path, hubtest.Lookup(r.body["errors"].([]any)[0], "path"), body)
	}
	require.Equal(t, 200, put(`{"headers":{"X-A":"b","X-Event-Type":"store_creation"}}`).status)
	require.Equal(t, 200, put(`{"event_type_header":""}`).status)
	require.Empty(t, header("X-Other"))
	require.NotContains(t, d.ok("GET", one, "").body, "event_type_header")
	requireEnvelope(t, put(`{"event_type_header_value":"name"}`), 400, "event_type_header is required")
}

var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

func TestEveryThrottledResponseHasRetryAfter(t *testing.T) {
	once := limit.Rule{Count: 1, Per: time.Minute, Block: time.Minute}
	a := newAPI(t, func(c *Config) {
		c.Limits = map[web.Limit]limit.Rule{}
		for _, name := range []web.Limit{web.LimitStores, web.LimitMenu, web.LimitWebhooks, web.LimitRetry,
			web.LimitOrders, web.LimitOrderUpdates, web.LimitSwitches, web.LimitCallbacks, web.LimitRead,
			web.LimitOperations, web.LimitRider, web.LimitLocation, web.LimitActions} {
			c.Limits[name] = once
		}
	})
	tenant := hubtest.Business(t, a.hub.db)
	channel := hubtest.ChannelKey(t, a.hub.db, tenant.ID, "")
	callers := relay.Callers{Keys: platforms.NewCallers(a.hub.db), Clock: a.clock}
	platform, err := callers.CreateKey(t.Context(), tenant.ID, "web")
	require.NoError(t, err)
	document, err := openapi3.NewLoader().LoadFromData(web.OpenAPI())
	require.NoError(t, err)
	checked := 0
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Responses.Value("429") == nil {
				continue
			}
			send := request{method: method, path: strings.Replace(pathParameter.ReplaceAllString(path, "1"),
				"/1/callback/", "/web/callback/", 1), authorization: tenant.Authorization}
			switch operation.Extensions["x-scope"] {
			case "channel":
				send.authorization = channel
			case "platform":
				send.authorization = "Bearer " + platform
			}
			if operation.RequestBody != nil {
				send.body = "{}"
			}
			a.do(t, send)
			r := a.do(t, send)
			require.Equal(t, 429, r.status, "%s %s: %s", method, path, r.text)
			require.Equal(t, "60", r.header.Get("Retry-After"), "%s %s", method, path)
			checked++
		}
	}
	require.Greater(t, checked, 40)
}
