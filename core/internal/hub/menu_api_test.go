package hub

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const menuRoute = "/external/api/v1/inventory/locations/"

// menuClient is a business with a store s1 and a webhook endpoint.
type menuClient struct {
	*api
	t      *testing.T
	tenant hubtest.Tenant
	sink   *hubtest.Sink
}

func newMenuClient(t *testing.T, change func(*Config)) *menuClient {
	t.Helper()
	return newMenuClientAt(t, newAPI(t, change))
}

func newMenuClientAt(t *testing.T, a *api) *menuClient {
	t.Helper()
	a.start(t)
	d := &menuClient{a, t, hubtest.Business(t, a.hub.db), hubtest.NewEventSink(t, nil)}
	for _, event := range []string{"store_creation", "inventory_update"} {
		d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, d.sink.URL))
	}
	d.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","name":"N","city":"C","excluded_platforms":[]}]}`)
	d.awaitCallback(1)
	return d
}

func (d *menuClient) send(method, path, body string) apiResponse {
	d.t.Helper()
	return d.do(d.t, request{method: method, path: path, authorization: d.tenant.Authorization, body: body})
}

func (d *menuClient) ok(method, path, body string) apiResponse {
	d.t.Helper()
	r := d.send(method, path, body)
	require.Equal(d.t, 200, r.status, r.text)
	return r
}

// awaitCallback waits for the n-th callback and returns it.
func (d *menuClient) awaitCallback(n int) (callback map[string]any) {
	d.t.Helper()
	hubtest.WaitUntil(d.t, "callback", func() bool { return len(d.sink.Arrivals()) >= n })
	require.NoError(d.t, json.Unmarshal(d.sink.Arrivals()[n-1].Body, &callback))
	return callback
}

const lunch = `{"categories":[{"ref_id":"mains","name":"Mains"}],
	"items":[{"ref_id":"dal","title":"Dal","price":10,"external_price":12,"category_ref_ids":["mains"],
	          "images":[{"tag":"default","url":"https://x.example/d.png"},{"tag":"web",` +
	`"url":"https://x.example/w.png"}]},
	         {"ref_id":"naan","price":2,"category_ref_ids":["mains"]}],
	"taxes":[{"code":"ST_P","title":"sales tax","structure":{"value":7.25},"item_ref_ids":["all"]}]}`

func TestMenuThroughTheAPI(t *testing.T) {
	d := newMenuClient(t, unlimited)
	accepted := d.ok("POST", menuRoute+"-1/", lunch)
	callback := d.awaitCallback(2)
	require.Equal(t, accepted.body["reference"], callback["reference"])
	require.Equal(t, "-1", callback["location_ref_id"])
	require.Equal(t, map[string]any{"created": 1.0, "updated": 0.0, "deleted": 0.0, "errors": 1.0},
		callback["stats"].(map[string]any)["items"])
	failed := callback["items"].([]any)[1].(map[string]any)["upipr_status"].(map[string]any)
	require.Equal(t, true, failed["error"])
	require.Contains(t, failed["err_msg"], "title is required")

	job := d.ok("GET", "/external/api/v1/jobs/"+accepted.body["reference"].(string)+"/", "")
	require.Equal(t, "done", job.body["state"])
	require.Equal(t, "menu", job.body["kind"])
	require.Equal(t, 4.0, job.body["objects_done"])

	d.ok("POST", menuRoute+"s1", `{"items":[{"ref_id":"dal","price":11}]}`)
	d.awaitCallback(3)
	require.Equal(t, 11.0, d.ok("GET", menuRoute+"s1/?only=items",
		"").body["items"].([]any)[0].(map[string]any)["price"])
	page := d.ok("GET", menuRoute+"-1/?limit=1", "")
	require.Equal(t, "categories:mains", page.body["next"])
	require.Empty(t, page.body["items"])
	require.Equal(t, 10.0, d.ok("GET", menuRoute+"-1/?limit=1&after=categories:mains",
		"").body["items"].([]any)[0].(map[string]any)["price"])

	menu := "/channel/api/v1/stores/s1/menu/?platform=web"
	seen := d.ok("GET", menu, "")
	dal := seen.body["items"].([]any)[0].(map[string]any)
	require.Equal(t, []any{11.0, "https://x.example/w.png"}, []any{dal["price"], dal["img_url"]})
	conditional := func() apiResponse {
		return d.do(t, request{method: "GET", path: menu, authorization: d.tenant.Authorization,
			headers: map[string]string{"If-None-Match": seen.header.Get("ETag")}})
	}
	require.Equal(t, 304, conditional().status)
	require.Empty(t, conditional().text)
	d.ok("POST", menuRoute+"s1/", `{"items":[{"ref_id":"dal","price":11,"available":false}]}`)
	d.awaitCallback(4)
	changed := conditional()
	require.Equal(t, 200, changed.status)
	require.Empty(t, changed.body["items"])
}

func TestInvalidMenuRequestsAreRejected(t *testing.T) {
	d := newMenuClient(t, unlimited)
	requireEnvelope(t, d.send("POST", menuRoute+"s2/", `{"items":[]}`), 404, "no location")
	requireEnvelope(t, d.send("GET", menuRoute+"s2/", ""), 404, "no location")
	requireEnvelope(t, d.send("POST", menuRoute+"-1/", `{}`), 400, "")
	requireEnvelope(t, d.send("POST", menuRoute+"-1/", `{"flush_items":true,"options":[]}`), 400, "items")
	requireEnvelope(t, d.send("POST", menuRoute+"-1/", `{"items":[{"ref_id":"I-17"}]}`), 400,
		`items[0] (ref_id "I-17"): price is required`)
	requireEnvelope(t, d.send("POST", menuRoute+"-1/",
		`{"taxes":[{"code":"VAT_P","title":"VAT","structure":{"value":1}}]}`), 400, "ST_P")
	requireEnvelope(t, d.send("POST", menuRoute+"-1/?dry_run=maybe", lunch), 400, "dry_run")
	requireEnvelope(t, d.send("GET", menuRoute+"-1/?only=dishes", ""), 400, "only")
	requireEnvelope(t, d.send("GET", "/channel/api/v1/stores/s1/menu/", ""), 400, "platform is required")
	requireEnvelope(t, d.send("GET", "/channel/api/v1/stores/s1/menu/?platform=nowhere", ""), 404,
		`platform "nowhere": there is no platform with this name`)
	requireEnvelope(t, d.send("GET", "/channel/api/v1/stores/s2/menu/?platform=web", ""), 404,
		`ref_id "s2": there is no store with this ref_id`)
	stranger := hubtest.Business(t, d.hub.db)
	requireEnvelope(t, d.do(t, request{method: "GET", path: menuRoute + "s1/", authorization: stranger.Authorization}),
		404, "no location")
	requireEnvelope(t, d.send("GET", "/external/api/v1/jobs/nonsense/", ""), 404, "no job")
	requireEnvelope(t, d.send("GET", "/external/api/v1/jobs/01a1fd70-502e-7483-9a8f-73dce3a539c9/", ""), 404, "no job")
}

func TestDryRunPreviewsAndFlushGuardHolds(t *testing.T) {
	d := newMenuClient(t, func(c *Config) { unlimited(c); c.IngestPolicy.FlushGuard = 20 })
	d.ok("POST", menuRoute+"-1/",
		`{"items":[{"ref_id":"a","title":"A","price":1},{"ref_id":"b","title":"B","price":1}]}`)
	d.awaitCallback(2)
	const flush = `"flush_items":true,"items":[{"ref_id":"a","price":2}]`
	accepted := d.ok("POST", menuRoute+"-1/?dry_run=true", `{"confirm_flush":true,`+flush+`}`)
	var job apiResponse
	hubtest.WaitUntil(t, "the dry run", func() bool {
		job = d.ok("GET", "/external/api/v1/jobs/"+accepted.body["reference"].(string), "")
		return job.body["state"] == "done"
	})
	items := job.body["result"].(map[string]any)["kinds"].(map[string]any)["items"].(map[string]any)
	require.Equal(t, []any{"b"}, items["deactivated"])
	require.Equal(t, []any{"a"}, items["updated"])

	d.ok("POST", menuRoute+"-1/", `{`+flush+`}`)
	held := d.awaitCallback(3)
	require.Contains(t, fmt.Sprint(held["warnings"]), "confirm_flush")
	active := func() any {
		return d.ok("GET", menuRoute+"-1/?only=items", "").body["items"].([]any)[1].(map[string]any)["active"]
	}
	require.Equal(t, true, active())
	d.ok("POST", menuRoute+"-1/", `{"confirm_flush":true,`+flush+`}`)
	d.awaitCallback(4)
	require.Equal(t, false, active())
}

func TestMenuRequestsAreThrottled(t *testing.T) {
	a := newAPI(t, nil)
	tenant := hubtest.Business(t, a.hub.db)
	send := func() apiResponse {
		return a.do(t, request{method: "POST", path: menuRoute + "-1/", authorization: tenant.Authorization,
			body: `{"items":[]}`})
	}
	require.Equal(t, 200, send().status)
	a.clock.Advance(4900 * time.Millisecond)
	breach := send()
	requireEnvelope(t, breach, 429, "too many")
	require.Equal(t, "5", breach.header.Get("Retry-After"))
	a.clock.Advance(5*time.Second - time.Millisecond)
	require.Equal(t, 429, send().status)
	a.clock.Advance(time.Millisecond)
	require.Equal(t, 200, send().status)
}
