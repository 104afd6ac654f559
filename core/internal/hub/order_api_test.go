package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web"
)

const (
	ordersRoute        = "/external/api/v1/orders/"
	channelOrdersRoute = "/channel/api/v1/orders/"
	channelStoresRoute = "/channel/api/v1/stores/"
)

// orderClient is a menuClient with a channel key and webhooks for orders.
type orderClient struct {
	*menuClient
	channel string // value of the Authorization header
	orders  *hubtest.Sink
}

func newOrderClient(t *testing.T, change func(*Config)) *orderClient {
	t.Helper()
	d := newMenuClient(t, func(c *Config) {
		unlimited(c)
		if change != nil {
			change(c)
		}
	})
	return newOrderClientAt(d)
}

// newOrderClientAt returns an orderClient of an existing menuClient.
func newOrderClientAt(d *menuClient) *orderClient {
	d.t.Helper()
	t := d.t
	d.ok("POST", menuRoute+"s1/",
		`{"items":[{"ref_id":"dal","title":"Dal","price":9.5,"platform_pricing":[{"platform":"app","price":10}]}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]}],"options":[{"ref_id":"hot",`+
			`"title":"Hot","price":0.5,"opt_grp_ref_ids":["heat"]}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8.25},"item_ref_ids":["all"]}]}`)
	d.awaitCallback(2)
	s := &orderClient{d, hubtest.ChannelKey(t, d.hub.db, d.tenant.ID, ""), hubtest.NewEventSink(t, nil)}
	for _, event := range []string{"order_placed", "order_status_update"} {
		d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, s.orders.URL))
	}
	return s
}

// sendAsChannel sends a request with the channel key.
func (s *orderClient) sendAsChannel(method, path, body string) apiResponse {
	s.t.Helper()
	return s.do(s.t, request{method: method, path: path, authorization: s.channel, body: body})
}

func orderOf(id, fields string) string {
	return fmt.Sprintf(`{"platform":"web","platform_order_id":%q,"store_ref_id":"s1","items":[{"ref_id":"dal",`+
		`"quantity":2,"options":[{"ref_id":"hot"}]}]%s}`, id, fields)
}

func (s *orderClient) orderEvents() []hubtest.Arrival { return s.orders.Distinct(webhook.HeaderID) }

// awaitOrderEvents waits for the first n events of orders. It leaves out repeats.
func (s *orderClient) awaitOrderEvents(n int) (events []map[string]any) {
	s.t.Helper()
	s.waitAdvancing(s.t, "events of orders", func() bool { return len(s.orderEvents()) >= n })
	for _, arrival := range s.orderEvents() {
		var event map[string]any
		require.NoError(s.t, json.Unmarshal(arrival.Body, &event))
		events = append(events, event)
	}
	return events
}

func TestOrderLifecycleThroughTheAPI(t *testing.T) {
	s := newOrderClient(t, nil)
	taken := s.sendAsChannel("POST", channelOrdersRoute, orderOf("W-1", ""))
	require.Equal(t, 200, taken.status, taken.text)
	id := taken.body["order_id"].(float64)
	placed := s.awaitOrderEvents(1)[0]
	details := hubtest.Lookup(placed, "order.details").(map[string]any)
	require.Equal(t, []any{id, 20.0, 1.65, 21.65, "web", "Placed", nil},
		[]any{details["id"], details["order_subtotal"], details["total_taxes"], details["order_total"],
			details["channel"], details["order_state"], details["flags"]})
	require.Equal(t, "s1", hubtest.Lookup(placed, "order.store.merchant_ref_id"))

	again := s.sendAsChannel("POST", strings.TrimSuffix(channelOrdersRoute, "/"), orderOf("W-1", `,"coupon":"other"`))
	require.Equal(t, 200, again.status)
	require.Equal(t, id, again.body["order_id"])
	require.Contains(t, again.message(), "already exists")

	one := fmt.Sprintf("%s%d/", ordersRoute, int64(id))
	move := func(to string) apiResponse {
		return s.send("PUT", one+"status/", fmt.Sprintf(`{"new_status":%q,"message":"m"}`, to))
	}
	require.Equal(t, 200, move("food ready").status)
	require.Contains(t, move("Food Ready").message(), "nothing changed")
	requireEnvelope(t, move("Acknowledged"), 409,
		"the order is Food Ready and cannot become Acknowledged, only Dispatched, Completed, Cancelled")
	mine := fmt.Sprintf("%s%d/", channelOrdersRoute, int64(id))
	requireEnvelope(t, s.sendAsChannel("PUT", mine+"status/", `{"new_status":"Dispatched"}`), 403, "complete or cancel")
	require.Equal(t, 200, s.sendAsChannel("PUT", mine+"status/", `{"new_status":"Completed"}`).status)
	requireEnvelope(t, move("Cancelled"), 409, "Completed is final")

	events := s.awaitOrderEvents(3)
	require.Len(t, events, 3)
	require.Equal(t, []any{id, "Placed", "Food Ready", "s1", "m", "web", "W-1"},
		[]any{events[1]["order_id"], events[1]["prev_state"], events[1]["new_state"],
			events[1]["store_id"], events[1]["message"], hubtest.Lookup(events[1],
				"additional_info.external_channel.name"),
			hubtest.Lookup(events[1], "additional_info.external_channel.order_id")})
	require.Equal(t, "Completed", events[2]["new_state"])

	for _, read := range []apiResponse{s.ok("GET", one, ""), s.sendAsChannel("GET", mine, "")} {
		require.Equal(t, "Completed", read.body["state"])
		require.Equal(t, "Completed", hubtest.Lookup(read.body, "order.details.order_state"))
		history := read.body["history"].([]any)
		require.Len(t, history, 3)
		require.Equal(t, []any{"Placed", "key:shop"},
			[]any{hubtest.Lookup(history[0], "state"), hubtest.Lookup(history[0], "actor")})
		require.Equal(t, []any{"Food Ready", "m", "key:pos"},
			[]any{hubtest.Lookup(history[1], "state"), hubtest.Lookup(history[1], "message"),
				hubtest.Lookup(history[1], "actor")})
		require.Empty(t, read.body["flags"])
	}
}

func TestInconsistentOrderIsAcceptedAndFlagged(t *testing.T) {
	s := newOrderClient(t, nil)
	s.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","active":false,"included_platforms":["app"]}]}`)
	s.awaitCallback(3)
	taken := s.sendAsChannel("POST", channelOrdersRoute,
		`{"platform":"web","platform_order_id":"1","store_ref_id":"s1","order_total":5,
		"items":[{"ref_id":"dal","quantity":1,"price":9},{"ref_id":"unicorn","quantity":1,"price":1}]}`)
	require.Equal(t, 200, taken.status, taken.text)
	read := s.ok("GET", fmt.Sprintf("%s%d", ordersRoute, int64(taken.body["order_id"].(float64))), "")
	flags := read.body["flags"].([]any)
	codes := []any{}
	for _, flag := range flags {
		codes = append(codes, hubtest.Lookup(flag, "code"))
	}
	require.Equal(t, []any{"store_inactive", "not_listed", "differs", "not_on_menu", "differs"}, codes)
	require.Equal(t, flags, hubtest.Lookup(s.awaitOrderEvents(1)[0], "order.details.flags"))
	require.Equal(t, 5.0, hubtest.Lookup(s.ok("GET", ordersRoute, "").body["orders"].([]any)[0], "flags"))
}

func TestOrderAgainstStoreRulesIsFlagged(t *testing.T) {
	s := newOrderClient(t, nil)
	s.ok("POST", storesRoute,
		`{"stores":[{"ref_id":"s1","min_order_value":500,"timings":[{"day":"monday","slots":[]}]}]}`)
	s.ok("POST", menuRoute+"-1/",
		`{"option_groups":[{"ref_id":"heat","max_selectable":1,"min_selectable":1},{"ref_id":"size","title":"Size",`+
			`"min_selectable":1,"item_ref_ids":["dal"]}],
		"options":[{"ref_id":"hot","price":0.5,"opt_grp_ref_ids":["size"]}]}`)
	s.awaitCallback(4)
	placed := s.sendAsChannel("POST", channelOrdersRoute,
		`{"platform":"web","platform_order_id":"1","store_ref_id":"s1","items":[{"ref_id":"dal","quantity":"2.0"},
		{"ref_id":"dal","quantity":1,"price":10000000000000,"options":[{"ref_id":"hot","quantity":100000,`+
			`"price":10000000000000}]}]}`)
	require.Equal(t, 200, placed.status, placed.text)
	var codes []any
	for _, flag := range s.ok("GET", fmt.Sprintf("%s%v/", ordersRoute, placed.body["order_id"]),
		"").body["flags"].([]any) {
		codes = append(codes, hubtest.Lookup(flag, "code"))
	}
	require.Equal(t, []any{"store_closed", "too_few_options", "too_few_options", "differs", "differs"}, codes)
	s.sendAsChannel("POST", channelOrdersRoute, orderOf("2", ""))
	require.Contains(t, fmt.Sprint(s.awaitOrderEvents(2)), "below_minimum")
}

func TestOrderUsesThePlatformPrice(t *testing.T) {
	s := newOrderClient(t, nil)
	for platform, want := range map[string]float64{"web": 9.5, "app": 10} {
		taken := s.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("1", ""), `"web"`,
			`"`+platform+`"`, 1))
		read := s.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, int64(taken.body["order_id"].(float64))), "")
		require.Equal(t, want, hubtest.Lookup(hubtest.Lookup(read.body, "order.items").([]any)[0], "price"))
	}
}

func TestInvalidOrdersAreRejected(t *testing.T) {
	s := newOrderClient(t, nil)
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, `{}`), 400, "platform is required")
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("1", ""), "web", "mars",
		1)), 404,
		`platform "mars": there is no platform with this name`)
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("1", ""), "s1", "s9", 1)),
		404,
		`store_ref_id "s9": there is no store with this ref_id`)
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("1", ""), "dal", "x", 1)),
		400,
		`items[0] (ref_id "x"): price is required: the store's menu has no such item`)
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, orderOf("1", `,"x":"`+strings.Repeat("x",
		1<<20)+`"`)), 413,
		"larger than 1048576 bytes")
	requireEnvelope(t, s.send("POST", channelOrdersRoute, orderOf("1", "")), 403, "requires channel")
	requireEnvelope(t, s.sendAsChannel("GET", ordersRoute, ""), 403, "requires pos")
	require.Empty(t, s.ok("GET", ordersRoute, "").body["orders"], "nothing of it was kept")

	app := hubtest.ChannelKey(t, s.hub.db, s.tenant.ID, "app")
	requireEnvelope(t, s.do(t,
		request{method: "POST", path: channelOrdersRoute, authorization: app, body: orderOf("1", "")}), 403,
		`platform "app"`)
	id := int64(s.sendAsChannel("POST", channelOrdersRoute, orderOf("1", "")).body["order_id"].(float64))
	status := fmt.Sprintf("%s%d/status/", channelOrdersRoute, id)
	foreign := func(method, path, authorization, body string) {
		requireEnvelope(t, s.do(t, request{method: method, path: path, authorization: authorization, body: body}), 404,
			"no order")
	}
	foreign("GET", fmt.Sprintf("%s%d/", channelOrdersRoute, id), app, "")
	foreign("PUT", status, app, `{"new_status":"Cancelled"}`)
	stranger := hubtest.Business(t, s.hub.db)
	foreign("GET", fmt.Sprintf("%s%d/", ordersRoute, id), stranger.Authorization, "")
	foreign("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, id), stranger.Authorization, `{"new_status":"Cancelled"}`)
	foreign("GET", ordersRoute+"nonsense/", s.tenant.Authorization, "")
	requireEnvelope(t, s.sendAsChannel("PUT", status, `{"new_status":"Lost"}`), 400, "must be one of")
	requireEnvelope(t, s.sendAsChannel("PUT", status, `{}`), 400, "new_status is required")
	for _, query := range []string{"state=Lost", "limit=201", "after=x", "after=1-", "from=x", "to=0"} {
		requireEnvelope(t, s.send("GET", ordersRoute+"?"+query, ""), 400, "must be")
	}
}

func TestOrdersAreListedNewestFirstAndFiltered(t *testing.T) {
	s := newOrderClient(t, nil)
	began := s.clock.Now()
	ids := []any{}
	for n := range 5 {
		taken := s.sendAsChannel("POST", channelOrdersRoute, orderOf(fmt.Sprint(n), ""))
		ids = append([]any{taken.body["order_id"]}, ids...)
		if n != 2 { // two at the same time
			s.clock.Advance(time.Second)
		}
	}
	list := func(query string) (found []any) {
		for _, order := range s.ok("GET", ordersRoute+"?"+query, "").body["orders"].([]any) {
			found = append(found, hubtest.Lookup(order, "order_id"))
		}
		return found
	}
	require.Equal(t, ids, list(""))
	var paged []any
	for after := ""; ; {
		page := s.ok("GET", ordersRoute+"?limit=2"+after, "")
		for _, order := range page.body["orders"].([]any) {
			paged = append(paged, hubtest.Lookup(order, "order_id"))
		}
		next, more := hubtest.Lookup(page.body, "meta.next").(string)
		if !more {
			break
		}
		after = "&after=" + next
	}
	require.Equal(t, ids, paged)
	s.ok("PUT", fmt.Sprintf("%s%d/status/", ordersRoute, int64(ids[4].(float64))), `{"new_status":"Cancelled"}`)
	require.Equal(t, ids[4:], list("state=cancelled"))
	require.Equal(t, ids[3:], list(fmt.Sprintf("to=%d", began.Add(2*time.Second).UnixMilli())))
	require.Equal(t, ids[:1], list(fmt.Sprintf("from=%d", began.Add(3*time.Second).UnixMilli())))
	require.Equal(t, ids, list("platform=web&store_ref_id=s1"))
	require.Empty(t, list("platform=app"))
	require.Empty(t, list("store_ref_id=s2"))
}

func TestConcurrentOrdersFailIndependently(t *testing.T) {
	s := newOrderClient(t, nil)
	var sending sync.WaitGroup
	answers := make([]apiResponse, 60)
	for n := range answers {
		sending.Go(func() {
			body := orderOf(fmt.Sprint(n/2), "") // each twice
			if n%6 == 0 {
				body = strings.Replace(body, `"dal"`, `"nothing"`, 1)
			}
			answers[n] = s.sendAsChannel("POST", channelOrdersRoute, body)
		})
	}
	sending.Wait()
	known := map[any]int{}
	for n, r := range answers {
		if n%6 == 0 && r.status == 400 {
			require.Contains(t, r.message(), "price is required")
			continue
		}
		require.Equal(t, 200, r.status, r.text)
		known[r.body["order_id"]]++
	}
	require.Len(t, known, 30)
	require.Len(t, s.awaitOrderEvents(30), 30)
}

func TestOrdersAreThrottledOnlyWhenConfigured(t *testing.T) {
	s := newOrderClient(t, func(c *Config) {
		c.Limits[web.LimitOrders] = limit.Rule{Count: 1, Per: time.Minute, Block: time.Minute}
	})
	require.Equal(t, 200, s.sendAsChannel("POST", channelOrdersRoute, orderOf("1", "")).status)
	requireEnvelope(t, s.sendAsChannel("POST", channelOrdersRoute, orderOf("2", "")), 429, "too many")
	require.True(t, Defaults().Limits[web.LimitOrders].Off())
}

func TestChannelStoresShowPlatformsAndOpeningTimes(t *testing.T) {
	s := newOrderClient(t, nil)
	s.ok("POST", storesRoute,
		`{"stores":[{"ref_id":"s2","name":"Night","city":"C","included_platforms":["app"],"min_order_value":0,
		"timings":[{"day":"monday","slots":[{"start_time":"22:00","end_time":"02:00"}]}]}]}`)
	s.awaitCallback(3)
	get := func(path string) apiResponse {
		r := s.sendAsChannel("GET", path, "")
		require.Equal(t, 200, r.status, r.text)
		return r
	}
	refs := func(path string) (found []any) {
		for _, store := range get(path).body["stores"].([]any) {
			found = append(found, hubtest.Lookup(store, "ref_id"))
		}
		return found
	}
	require.Equal(t, []any{"s1", "s2"}, refs(channelStoresRoute))
	require.Equal(t, []any{"s1"}, refs(channelStoresRoute+"?platform=web"))
	require.Equal(t, []any{"s1", "s2"}, refs(channelStoresRoute+"?platform=app"))
	first := get(channelStoresRoute + "?limit=1")
	require.Equal(t, "s1", hubtest.Lookup(first.body, "meta.next"))
	require.Equal(t, []any{"s2"}, refs(channelStoresRoute+"?limit=1&after=s1"))
	requireEnvelope(t, s.sendAsChannel("GET", channelStoresRoute+"?platform=mars", ""), 404,
		`platform "mars": there is no platform`)

	all := get(channelStoresRoute)
	same := s.do(t, request{method: "GET", path: channelStoresRoute, authorization: s.tenant.Authorization,
		headers: map[string]string{"If-None-Match": all.header.Get("ETag")}})
	require.Equal(t, http.StatusNotModified, same.status)
	require.Empty(t, same.text)
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	local := s.clock.Now().In(newYork)
	monday := time.Date(local.Year(), local.Month(), local.Day(), 23, 0, 0, 0, newYork).AddDate(0, 0,
		(int(time.Monday)-int(local.Weekday())+7)%7)
	s.clock.Advance(monday.Sub(s.clock.Now()))
	night := func() any { return get(channelStoresRoute).body["stores"].([]any)[1] }
	require.Equal(t, []any{true, []any{"app"}, 0.0},
		[]any{hubtest.Lookup(night(), "open_now"), hubtest.Lookup(night(), "platforms"),
			hubtest.Lookup(night(), "min_order_value")})
	s.clock.Advance(4 * time.Hour)
	require.Equal(t, false, hubtest.Lookup(night(), "open_now"))
}

func TestDeliverabilityThroughTheAPI(t *testing.T) {
	s := newOrderClient(t, nil)
	deliverable := func(ref, query string) []any {
		r := s.sendAsChannel("GET", channelStoresRoute+ref+"/deliverable/?zip_code="+query, "")
		require.Equal(t, 200, r.status, r.text)
		return []any{r.body["deliverable"], r.body["by_zip_codes"]}
	}
	require.Equal(t, []any{true, false}, deliverable("s1", "94103"))
	s.ok("POST", storesRoute,
		`{"stores":[{"ref_id":"s2","name":"N","city":"C","zip_codes":["94103","SW1A 1AA"],"excluded_platforms":[]}]}`)
	s.awaitCallback(3)
	require.Equal(t, []any{false, true}, deliverable("s1", "94103"))
	require.Equal(t, []any{true, true}, deliverable("s2", "94103"))
	require.Equal(t, []any{true, true}, deliverable("s2", "sw1a1aa&platform=app"))
	requireEnvelope(t, s.sendAsChannel("GET", channelStoresRoute+"callback/menu/?platform=web", ""), 404, "")
	tag := s.sendAsChannel("GET", channelStoresRoute+"s2/deliverable/?zip_code=94103", "").header.Get("ETag")
	require.Equal(t, 304, s.do(t, request{method: "GET", path: channelStoresRoute + "s2/deliverable/?zip_code=94103",
		authorization: s.channel, headers: map[string]string{"If-None-Match": tag}}).status)
	there := s.sendAsChannel("GET", "/channel/api/v1/deliverable/?zip_code=94103", "")
	require.Equal(t, true, there.body["by_zip_codes"])
	require.Len(t, there.body["stores"], 1)
	requireEnvelope(t, s.sendAsChannel("GET", "/channel/api/v1/deliverable/", ""), 400, "zip_code is required")
	requireEnvelope(t, s.sendAsChannel("GET", channelStoresRoute+"s1/deliverable/", ""), 400, "zip_code is required")
	requireEnvelope(t, s.sendAsChannel("GET", channelStoresRoute+"s9/deliverable/?zip_code=1", ""), 404, "no store")
	requireEnvelope(t, s.sendAsChannel("GET", channelStoresRoute+"s1/deliverable/?zip_code=1&platform=mars", ""), 404,
		"no platform")
}
