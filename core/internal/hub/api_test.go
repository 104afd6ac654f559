package hub

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web"
)

const (
	storesRoute   = "/external/api/v1/stores/"
	webhooksRoute = "/external/api/v1/webhooks/"
	oneStore      = `{"stores":[{"ref_id":"S-1","name":"N","city":"C"}]}`
)

func unlimited(config *Config) { config.Limits = map[web.Limit]limit.Rule{} }

func TestInvalidCredentialsAreRejected(t *testing.T) {
	a := newAPI(t, nil)
	tenant := hubtest.Business(t, a.hub.db)
	accounts := access.Access{Keys: accessdb.New(a.hub.db), Clock: a.clock}
	_, channel, err := accounts.CreateKey(context.Background(),
		access.Key{Business: tenant.ID, Username: "web", Scope: core.ScopeChannel})
	require.NoError(t, err)
	disabled, disabledSecret, err := accounts.CreateKey(context.Background(),
		access.Key{Business: tenant.ID, Username: "old", Scope: core.ScopePOS})
	require.NoError(t, err)
	require.NoError(t, accessdb.New(a.hub.db).DisableKey(context.Background(), tenant.ID, disabled.ID))

	for _, header := range []string{"", "apikey", "apikey pos:wrong", "Basic cG9zOng=",
		strings.Replace(tenant.Authorization, "pos:", "sop:", 1)} {
		r := a.do(t, request{method: "POST", path: storesRoute, authorization: header, body: oneStore})
		requireEnvelope(t, r, 401, "Authorization: apikey")
		require.Equal(t, "apikey", r.header.Get("WWW-Authenticate"))
		require.Empty(t, r.header.Get("RateLimit-Limit"), "who is not known is not counted")
	}
	requireEnvelope(t, a.do(t,
		request{method: "POST", path: storesRoute, authorization: "apikey old:" + disabledSecret, body: oneStore}), 403,
		"disabled")
	requireEnvelope(t, a.do(t,
		request{method: "POST", path: storesRoute, authorization: "apikey web:" + channel, body: oneStore}), 403,
		"scope")
	good := a.do(t, request{method: "POST", path: storesRoute,
		authorization: "APIKEY " + strings.TrimPrefix(tenant.Authorization, "apikey "), body: oneStore})
	require.Equal(t, 200, good.status)
	require.Equal(t, "19", good.header.Get("RateLimit-Remaining"), "refusals for credentials did not count")
}

func TestInvalidBodiesAreRejected(t *testing.T) {
	a := newAPI(t, func(c *Config) { unlimited(c); c.MaxBody = 1 << 20 })
	tenant := hubtest.Business(t, a.hub.db)
	gzipped := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(s))
		_ = w.Close()
		return b.String()
	}
	for name, row := range map[string]struct {
		body    string
		headers map[string]string
		status  int
		message string
	}{
		"form": {`a=b`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415,
			"Content-Type: application/json"},
		"Latin 1": {oneStore, map[string]string{"Content-Type": "application/json; charset=ISO-8859-1"}, 415,
			`the charset of the Content-Type must be utf-8, not "iso-8859-1"`},
		"unknown encoding": {oneStore, map[string]string{"Content-Encoding": "br"}, 415, "gzip"},
		"broken gzip":      {oneStore, map[string]string{"Content-Encoding": "gzip"}, 400, "gzip"},
		"gzip bomb": {gzipped(`{"stores":"` + strings.Repeat("x", 2<<20) + `"}`),
			map[string]string{"Content-Encoding": "gzip"}, 413, "larger than 1048576 bytes"},
		"empty":         {``, nil, 400, "not valid JSON"},
		"malformed":     {`{"stores":[`, nil, 400, "not valid JSON"},
		"an array":      {`[{"ref_id":"a"}]`, nil, 400, "the body must be an object"},
		"duplicate key": {`{"stores":[{"ref_id":"a","ref_id":"b"}]}`, nil, 400, "stores[0].ref_id is given twice"},
		"invalid UTF-8": {"{\"stores\":[{\"ref_id\":\"\xff\"}]}", nil, 400, "UTF-8"},
		"NUL":           {`{"stores":[{"ref_id":"a\u0000"}]}`, nil, 400, "stores[0].ref_id must not contain the NUL"},
		"nesting bomb":  {`{"x":` + strings.Repeat("[", 500000), nil, 400, "not valid JSON"},
		"nothing of a name": {`{"stores":[{"ref_id":"I-17","name":5}]}`, nil, 400,
			`stores[0] (ref_id "I-17"): name must be a string`},
		"half a megabyte": {`{"stores":[{"ref_id":"` + strings.Repeat("x", 1<<19) + `"}]}`, nil, 400,
			"at most 255 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			requireEnvelope(t, a.do(t, request{"POST", storesRoute, tenant.Authorization, row.body, row.headers}),
				row.status, row.message)
		})
	}
	for coding, body := range map[string]string{"": oneStore, "gzip": gzipped(oneStore), "GZIP": gzipped(oneStore),
		"x-gzip": gzipped(oneStore), "Identity": oneStore} {
		headers := map[string]string{"Content-Type": "application/json; charset=UTF-8", "Content-Encoding": coding}
		require.Equal(t, 200, a.do(t, request{"POST", storesRoute, tenant.Authorization, body, headers}).status, coding)
	}
	for _, media := range []string{"", "application/json", "application/json;charset=utf8",
		`APPLICATION/JSON; Charset="Utf-8"`, "application/merge-patch+json"} {
		headers := map[string]string{"Content-Type": media}
		require.Equal(t, 200, a.do(t, request{"POST", storesRoute, tenant.Authorization, oneStore, headers}).status,
			media)
	}
}

func TestAtMostHundredErrorsAreListed(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	r := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization,
		body: `{"stores":[` + strings.TrimSuffix(strings.Repeat(`{"name":5},`, 300), ",") + `]}`})
	requireEnvelope(t, r, 400, "stores[0]: name must be a string, not 5 (and 299 more)")
	require.Len(t, r.body["errors"], 100)
	require.Equal(t, map[string]any{"path": "stores[1].name", "code": "type",
		"message": "stores[1]: name must be a string, not 5"}, r.body["errors"].([]any)[1])
}

func TestUnknownPathsAndMethodsAreRejected(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	for _, path := range []string{storesRoute, strings.TrimSuffix(storesRoute, "/")} {
		require.Equal(t, 200, a.do(t,
			request{method: "POST", path: path, authorization: tenant.Authorization, body: oneStore}).status)
	}
	requireEnvelope(t, a.do(t,
		request{method: "GET", path: "/external/api/v2/stores/", authorization: tenant.Authorization}), 404,
		"unknown path")
	r := a.do(t, request{method: "DELETE", path: storesRoute, authorization: tenant.Authorization})
	requireEnvelope(t, r, 405, "method")
	require.Contains(t, r.header.Get("Allow"), "POST")
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		for _, path := range []string{retryRoute, deliveriesRoute + "retry"} {
			r := a.do(t, request{method: method, path: path, authorization: tenant.Authorization})
			requireEnvelope(t, r, 405, "method")
			require.Equal(t, "POST", r.header.Get("Allow"))
		}
	}
	require.Equal(t, "mine-1",
		a.do(t, request{method: "GET", path: "/healthz",
			headers: map[string]string{"X-Request-Id": "mine-1"}}).header.Get("X-Request-Id"))
	require.NoError(t, uuid.Validate(a.do(t,
		request{method: "GET", path: "/healthz",
			headers: map[string]string{"X-Request-Id": "bad id\""}}).header.Get("X-Request-Id")))
	require.Equal(t, 200, a.do(t, request{method: "GET", path: "/readyz"}).status)
	metrics := a.do(t, request{method: "GET", path: "/metrics"})
	for _, name := range []string{"servery_http_request_duration_seconds", "servery_queue_depth",
		"servery_queue_oldest_age_seconds", "servery_database_connections", "go_goroutines"} {
		require.Contains(t, metrics.text, name)
	}
	a.hub.server.Drain()
	requireEnvelope(t, a.do(t,
		request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: oneStore}), 503,
		"shutting down")
	requireEnvelope(t, a.do(t, request{method: "GET", path: "/readyz"}), 503, "")
	require.Equal(t, 200, a.do(t, request{method: "GET", path: "/healthz"}).status)
}

func TestThrottlesApplyAtExactLimits(t *testing.T) {
	for _, row := range []struct {
		name, method, path, body string
		limit                    int
	}{
		{"stores: 20 a minute", "POST", storesRoute, oneStore, 20},
		{"webhooks: 5 a minute", "GET", webhooksRoute, "", 5},
		{"read-back: 60 a minute", "GET", storesRoute, "", 60},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAPI(t, nil)
			tenant, other := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
			send := func(who hubtest.Tenant) apiResponse {
				return a.do(t, request{method: row.method, path: row.path, authorization: who.Authorization,
					body: row.body})
			}
			for n := range row.limit {
				r := send(tenant)
				require.Equal(t, 200, r.status, r.text)
				require.Equal(t, fmt.Sprint(row.limit), r.header.Get("RateLimit-Limit"))
				require.Equal(t, fmt.Sprint(row.limit-n-1), r.header.Get("RateLimit-Remaining"))
				require.Empty(t, r.header.Get("Retry-After"))
			}
			a.clock.Advance(59 * time.Second)
			breach := send(tenant)
			requireEnvelope(t, breach, 429, "too many requests")
			require.Equal(t, "60", breach.header.Get("Retry-After"), "a breach blocks for a minute")
			require.Equal(t, 200, send(other).status, "another business is not touched")
			a.clock.Advance(time.Minute - time.Millisecond)
			last := send(tenant)
			require.Equal(t, 429, last.status)
			require.Equal(t, "1", last.header.Get("Retry-After"))
			a.clock.Advance(time.Millisecond)
			require.Equal(t, 200, send(tenant).status)
		})
	}
	t.Run("a rejected body counts", func(t *testing.T) {
		a := newAPI(t, nil)
		tenant := hubtest.Business(t, a.hub.db)
		r := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization, body: `{`})
		require.Equal(t, 400, r.status)
		require.Equal(t, "19", r.header.Get("RateLimit-Remaining"))
	})
}

func TestWebhookSubscriptionsThroughTheAPI(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant, stranger := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	send := func(method, path, body string) apiResponse {
		return a.do(t, request{method: method, path: path, authorization: tenant.Authorization, body: body})
	}
	created := send("POST", webhooksRoute,
		`{"event_type":"60014","url":"https://pos.example.com/a","headers":{"X-Token":"hush"},`+
			`"retrial_interval_units":"seconds"}`)
	require.Equal(t, 200, created.status, created.text)
	require.True(t, strings.HasPrefix(created.body["secret"].(string), "whsec_"))
	id := fmt.Sprint(int64(created.body["webhook_id"].(float64)))

	read := send("GET", webhooksRoute+id+"/", "")
	require.Equal(t, map[string]any{
		"active": true, "event_type": "store_creation", "headers": map[string]any{"X-Token": "hush"},
		"retrial_interval_units": "seconds", "url": "https://pos.example.com/a",
		"webhook_id": created.body["webhook_id"],
	}, read.body)

	again := send("POST", webhooksRoute,
		`{"event_type":"store_creation","url":"https://pos.example.com/a","active":false}`)
	require.Equal(t, created.body["webhook_id"], again.body["webhook_id"], "event and url that exist: the same webhook")
	require.NotContains(t, again.body, "secret")
	read = send("GET", webhooksRoute+id, "")
	require.Equal(t, false, read.body["active"])
	require.Equal(t, map[string]any{"X-Token": "hush"}, read.body["headers"], "absent fields are unchanged")

	put := send("PUT", webhooksRoute+id+"/",
		`{"active":true,"headers":{},"event_type":"store_creation","retrial_interval_units":"minutes"}`)
	require.Equal(t, map[string]any{"status": "success", "message": "webhook updated",
		"webhook_id": created.body["webhook_id"]}, put.body)
	read = send("GET", webhooksRoute+id+"/", "")
	require.Equal(t, []any{true, map[string]any{}, "minutes"},
		[]any{read.body["active"], read.body["headers"], read.body["retrial_interval_units"]})

	requireEnvelope(t, send("PUT", webhooksRoute+id+"/", `{"event_type":"order_placed"}`), 400,
		"must stay store_creation")
	requireEnvelope(t, send("PUT", webhooksRoute+id+"/", `{"url":"http://10.0.0.1/"}`), 400, "private")
	requireEnvelope(t, send("POST", webhooksRoute, `{"event_type":18,"url":"http://169.254.169.254/"}`), 400, "private")
	requireEnvelope(t, send("POST", webhooksRoute, `{"event_type":18}`), 400, "url is required")
	second := send("POST", webhooksRoute, `{"event_type":60014,"url":"https://pos.example.com/b"}`)
	requireEnvelope(t, send("PUT", webhooksRoute+fmt.Sprint(int64(second.body["webhook_id"].(float64))),
		`{"url":"https://pos.example.com/a"}`), 409, "another webhook")

	list := send("GET", webhooksRoute+"?limit=1&offset=1", "")
	require.Equal(t, map[string]any{"limit": 1.0, "offset": 1.0, "total_count": 2.0}, list.body["meta"])
	require.Equal(t, "https://pos.example.com/b", list.body["webhooks"].([]any)[0].(map[string]any)["url"])
	requireEnvelope(t, send("GET", webhooksRoute+"?limit=201", ""), 400, "limit")

	for _, foreign := range []string{id, "999999", "0", "-1", "abc", "99999999999999999999"} {
		for _, method := range []string{"GET", "PUT"} {
			r := a.do(t, request{method: method, path: webhooksRoute + foreign + "/",
				authorization: stranger.Authorization, body: map[string]string{"PUT": `{}`}[method]})
			requireEnvelope(t, r, 404, "there is no webhook")
		}
	}

	for n := range webhook.MaxActive {
		hubtest.Subscribe(t, a.hub.db, tenant.ID, core.OrderPlaced, fmt.Sprintf("https://pos.example.com/%d", n))
	}
	requireEnvelope(t, send("POST", webhooksRoute, `{"event_type":18,"url":"https://pos.example.com/more"}`), 409,
		"100 active webhooks")
}

func TestStoresThroughTheAPI(t *testing.T) {
	a := newAPI(t, unlimited)
	a.start(t)
	tenant, stranger := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	sink := hubtest.NewEventSink(t, nil)
	made := a.do(t, request{method: "POST", path: webhooksRoute, authorization: tenant.Authorization,
		body: fmt.Sprintf(`{"event_type":"store_creation","url":%q}`, sink.URL)})
	require.Equal(t, 200, made.status, made.text)

	accepted := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization,
		body: `{"stores":[{"ref_id":"a/1","name":"N","city":"C"},{"ref_id":"b","name":"nowhere"}]}`})
	require.Equal(t, 200, accepted.status, accepted.text)
	hubtest.WaitUntil(t, "the callback", func() bool { return len(sink.Arrivals()) >= 1 })
	var callback map[string]any
	require.NoError(t, json.Unmarshal(sink.Arrivals()[0].Body, &callback))
	require.Equal(t, accepted.body["reference"], callback["reference"])
	require.Equal(t, map[string]any{"created": 1.0, "updated": 0.0, "errors": 1.0}, callback["stats"])

	get := func(who hubtest.Tenant, path string) apiResponse {
		return a.do(t, request{method: http.MethodGet, path: path, authorization: who.Authorization})
	}
	require.Equal(t, "N", get(tenant, storesRoute+"a%2F1/").body["name"])
	requireEnvelope(t, get(tenant, storesRoute+"b/"), 404, "no store")
	requireEnvelope(t, get(stranger, storesRoute+"a%2F1/"), 404, "no store")
	page := get(tenant, storesRoute+"?limit=1")
	require.Len(t, page.body["stores"], 1)
	require.Equal(t, map[string]any{"limit": 1.0}, page.body["meta"])
	require.Empty(t, get(stranger, storesRoute).body["stores"])
	require.Empty(t, get(tenant, storesRoute+"?after=a%2F1").body["stores"])
}
