package hub

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

const actionRoute = "/external/api/v1/aggregator/%s/feature-action/"

func (f *relayClient) postAction(platform, body string) apiResponse {
	f.t.Helper()
	return f.send("POST", fmt.Sprintf(actionRoute, platform), body)
}

// awaitAction waits until an action has a state, and returns it.
func (f *relayClient) awaitAction(reference any, state string) (read apiResponse) {
	f.t.Helper()
	hubtest.WaitUntil(f.t, "the action to be "+state, func() bool {
		read = f.ok("GET", fmt.Sprintf("/external/api/v1/actions/%s/", reference), "")
		return read.body["state"] == state
	})
	return read
}

// newCallbackKey creates a callback key for a platform.
func (f *relayClient) newCallbackKey(platform string) string {
	f.t.Helper()
	key, err := relay.Callers{Keys: platforms.NewCallers(f.hub.db), Clock: f.clock}.CreateKey(context.Background(),
		f.tenant.ID, platform)
	require.NoError(f.t, err)
	return key
}

func (f *relayClient) callBack(platform, kind, authorization, body string) apiResponse {
	f.t.Helper()
	return f.do(f.t, request{method: "POST", path: fmt.Sprintf("/channel/api/v1/%s/callback/%s/", platform, kind),
		authorization: authorization, body: body})
}

func TestActionRequestCountsAsPOSHeartbeat(t *testing.T) {
	f := newRelayClientWith(t, func(c *Config) { c.SilentAfter = 30 * time.Minute }, nil)
	id := f.order("a", "A-1", "")
	silent := func() int {
		require.NoError(t, f.hub.monitor.presence.Flush(t.Context()))
		require.NoError(t, f.hub.monitor.checkStores(t.Context()))
		return len(pgtest.SilentStores(t, f.hub.db, f.tenant.ID))
	}
	f.ok("GET", storesRoute+"s1/", "")
	require.Zero(t, silent())
	f.clock.Advance(31 * time.Minute)
	require.Equal(t, 1, silent())
	require.Equal(t, 200, f.postAction("a",
		fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask","wearing_mask":true,"phone":""}`, id)).status)
	require.Zero(t, silent())
}

func TestActionIsSentToItsAggregator(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("a", "A-1", `,"is_bulk_order":true`)
	for n, c := range []struct{ body, sent string }{
		{`"action":"rider_body_temp","temp":98.40,"wearing_mask":true`, `{"action":"rider_body_temp","temp":"98.4"}`},
		{`"action":"rider_with_mask","wearing_mask":false`, `{"action":"rider_with_mask","wearing_mask":false}`},
		{`"action":"request_additional_rider"`, `{"action":"request_additional_rider"}`},
	} {
		accepted := f.postAction("a", fmt.Sprintf(`{"order_id":"%d",%s}`, id, c.body))
		require.Equal(t, 200, accepted.status, accepted.text)
		require.Equal(t, "success", accepted.body["status"])
		arrival := f.awaitAggregatorRequest(n + 1)
		require.JSONEq(t, c.sent, string(arrival.Body))
		require.Equal(t, accepted.body["reference"], arrival.Header.Get("Idempotency-Key"))
		read := f.awaitAction(accepted.body["reference"], "done")
		require.Equal(t, []any{float64(id), "a", "A-1"},
			[]any{read.body["order_id"], read.body["platform"], read.body["platform_order_id"]})
		require.Equal(t, 200.0, hubtest.Lookup(read.body["attempts"].([]any)[0], "status"))
	}
	require.Empty(t, f.events.Arrivals())
}

func TestCustomerContactIsReportedOnce(t *testing.T) {
	f := newRelayClient(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	id := f.order("a", "880142173", "")
	key := "Bearer " + f.newCallbackKey("a")
	for n, response := range []string{`{"request":%q,"phone":"+14155550199"}`,
		`{"orderId":"880142173","phone":"+14155550199"}`} {
		asked := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id))
		require.Equal(t, 200, asked.status, asked.text)
		require.Equal(t, "it is being looked up", f.awaitAction(asked.body["reference"], "pending").message())
		if n == 0 {
			response = fmt.Sprintf(response, asked.body["reference"])
		}
		for range 2 {
			heard := f.callBack("a", "action", key, response)
			require.Equal(t, 200, heard.status, heard.text)
		}
		require.Equal(t, map[string]any{"reference": asked.body["reference"], "order_id": float64(id),
			"customer_phone": "+14155550199", "platform": "a",
			"action": "fetch_customer_data", "platform_order_id": 880142173.0, "status": "done", "message": ""},
			f.awaitRiderEvent(n+1))
		require.Equal(t, "+14155550199", f.awaitAction(asked.body["reference"], "done").body["customer_phone"])
	}
	require.Len(t, f.events.Arrivals(), 2)
	requireEnvelope(t, f.callBack("a", "action", key, `{"orderId":"other","phone":"1"}`), 404, "belongs to no action")
	requireEnvelope(t, f.callBack("b", "action", "Bearer "+f.newCallbackKey("b"),
		`{"orderId":"880142173","phone":"1"}`), 404,
		"belongs to no action")
}

func TestActionByCallbackIsPendingAfterItsResponse(t *testing.T) {
	m := newMarketClient(t)
	bazaar := hubtest.NewSink(t, nil)
	require.NoError(t, platforms.New(m.hub.db).Set(t.Context(), m.tenant.ID,
		core.Platform{Name: "bazaar", ServedBy: "market"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": bazaar.URL}
			return nil
		}))
	placed := m.event("n-1", "type", "order", "id", "M-1", "store", "s1", "item", "dal", "count", "2")
	require.Equal(t, 202, placed.status, placed.text)
	order := m.ok("GET", ordersRoute, "").body["orders"].([]any)[0].(map[string]any)
	queued := m.ok("POST", fmt.Sprintf(actionRoute, "bazaar"),
		fmt.Sprintf(`{"order_id":%.0f,"action":"fetch_customer_data"}`, hubtest.Lookup(order, "order_id")))
	var read map[string]any
	awaitState := func(state string) {
		t.Helper()
		hubtest.WaitUntil(t, "the action to be "+state, func() bool {
			m.clock.advanceToWork(20 * time.Millisecond)
			read = m.ok("GET", fmt.Sprintf("/external/api/v1/actions/%s/", queued.body["reference"]), "").body
			return read["state"] == state
		})
	}
	awaitState("pending")
	require.Len(t, bazaar.Arrivals(), 1)
	require.Equal(t, 200, m.event("n-2", "type", "outcome", "id", "M-1", "phone", "4155550100").status)
	awaitState("done")
	require.Equal(t, "4155550100", read["customer_phone"])
}

func TestFailedContactRequestIsReported(t *testing.T) {
	f := newRelayClientWith(t, func(c *Config) { c.ActionWithin = time.Hour },
		func(n int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(map[bool]int{true: 400, false: 202}[n == 1])
		})
	id := f.order("a", "880142173", "")
	failed := func(n int, reference, message any) {
		t.Helper()
		require.Equal(t, map[string]any{"reference": reference, "order_id": float64(id), "customer_phone": "",
			"platform": "a", "action": "fetch_customer_data",
			"platform_order_id": 880142173.0, "status": "failed", "message": message}, f.awaitRiderEvent(n))
		require.Equal(t, message, f.awaitAction(reference, "failed").message())
	}
	refused := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id)).body["reference"]
	failed(1, refused, "the aggregator responded with 400 Bad Request")
	owed := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id)).body["reference"]
	require.NotEqual(t, refused, owed, "what failed may be asked for again")
	f.awaitAction(owed, "pending")
	require.NoError(t, f.hub.monitor.checkActions(context.Background()))
	f.clock.Advance(time.Hour)
	require.NoError(t, f.hub.monitor.checkActions(context.Background()))
	failed(2, owed, "the aggregator has not reported the outcome in time")
}

func TestRepeatedActionReturnsTheSameReference(t *testing.T) {
	f := newRelayClient(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	id := f.order("a", "A-1", `,"is_bulk_order":true`)
	f.agent.setDown(true)
	rider := fmt.Sprintf(`{"order_id":%d,"action":"request_additional_rider"}`, id)
	contact := fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id)
	first := f.postAction("a", rider)
	require.Equal(t, 200, first.status, first.text)
	require.Equal(t, first.body, f.postAction("a", rider).body)
	f.agent.setDown(false)
	f.clock.Advance(2 * time.Second)
	f.awaitAction(first.body["reference"], "done")
	asked := f.postAction("a", contact)
	f.awaitAction(asked.body["reference"], "pending")
	require.Equal(t, asked.body, f.postAction("a", contact).body)
	require.Len(t, f.aggregator.Arrivals(), 2)

	f.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Completed"}`)
	requireEnvelope(t, f.postAction("a", rider), 409, fmt.Sprintf("order %d: the order is Completed", id))
	require.Equal(t, asked.body, f.postAction("a", contact).body, "the customer may be reached still")
	cancelled := f.order("a", "A-2", "")
	f.ok("PUT", oneOrder(cancelled)+"status/", `{"new_status":"Cancelled"}`)
	requireEnvelope(t, f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, cancelled)), 409,
		"the order is Cancelled")
}

func TestPluginCannotAffectAnotherPlatform(t *testing.T) {
	f := newRelayClient(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) })
	id := f.order("a", "A-1", "")
	asked := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id))
	f.awaitAction(asked.body["reference"], "pending")
	key := "Bearer " + f.newCallbackKey("b")
	for name, outcome := range map[string]string{"by its order": `{"orderId":"A-1","phone":"1"}`,
		"by its reference": fmt.Sprintf(`{"request":%q,"phone":"1"}`, asked.body["reference"])} {
		t.Run(name, func(t *testing.T) {
			requireEnvelope(t, f.callBack("b", "action", key, outcome), 404, "belongs to no action")
		})
	}
	f.awaitAction(asked.body["reference"], "pending")
	require.Empty(t, f.events.Arrivals())

	taken := f.callBack("b", "order", key, `{"orderId":"A-1","dish":"dal","platform":"a"}`)
	require.Equal(t, 200, taken.status, taken.text)
	require.NotEqual(t, float64(id), taken.body["order_id"])
	read := f.ok("GET", oneOrder(int64(taken.body["order_id"].(float64))), "")
	require.Equal(t, "b", hubtest.Lookup(read.body, "order.details.channel"))
}

func TestInvalidActionsAreRejected(t *testing.T) {
	f := newRelayClient(t, nil)
	collected := f.order("a", "A-3", `,"order_type":"pickup","delivery_type":"self"`)
	partner, own, selfish := f.order("a", "A-1", ""), f.order("web", "W-1", ""),
		f.order("a", "A-2", `,"delivery_type":"self"`)
	of := func(id int64, says string) string { return fmt.Sprintf("order %d: %s", id, says) }
	mask := func(id int64, more string) string {
		return fmt.Sprintf(`{"order_id":"%d","action":"rider_with_mask","wearing_mask":true%s}`, id, more)
	}
	for _, c := range []struct{ body, says string }{
		{`{}`, "action is required"},
		{`{"action":"rider_with_mask"}`, "order_id is required"},
		{fmt.Sprintf(`{"order_id":%d,"action":"rider_body_temp"}`, partner),
			of(partner, "temp is required with rider_body_temp")},
		{fmt.Sprintf(`{"order_id":%d,"action":"rider_body_temp","temp":79.9}`, partner),
			of(partner, "temp must be between 80 and 115")},
		{fmt.Sprintf(`{"order_id":%d,"action":"rider_body_temp","temp":115.1}`, partner),
			of(partner, "temp must be between 80 and 115")},
		{fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask"}`, partner),
			of(partner, "wearing_mask is required with rider_with_mask")},
		{fmt.Sprintf(`{"order_id":%d,"action":"dance"}`, partner),
			of(partner, "action must be one of: rider_body_temp")},
		{fmt.Sprintf(`{"order_id":%d,"action":"request_additional_rider"}`, partner),
			of(partner, "action request_additional_rider is for bulk orders only")},
		{mask(partner, `,"phone":"4155550177"`), of(partner, "phone is for self-delivery orders only")},
		{mask(collected, `,"phone":"4155550177"`), of(collected, "phone is for self-delivery orders only")},
		{mask(selfish, `,"phone":"41555"`), of(selfish, "phone must be 10 digits")},
		{fmt.Sprintf(`{"action":"rider_body_temp","temp":"98","order_id":%d}`, partner),
			of(partner, "temp must be a number")},
		{mask(own, ""), of(own, "order_id is an order of the platform web, not of a")},
	} {
		requireEnvelope(t, f.postAction("a", c.body), 400, c.says)
	}
	requireEnvelope(t, f.postAction("mars", mask(partner, "")), 404, `no platform "mars"`)
	requireEnvelope(t, f.postAction("a", mask(99, "")), 404, "no order")
	requireEnvelope(t, f.postAction("web", mask(own, "")), 400, "has no actions")
	requireEnvelope(t, f.postAction("b", mask(f.order("b", "B-1", ""), "")), 400, "has no actions")
	requireEnvelope(t, f.postAction("c", mask(f.order("c", "C-1", ""), "")), 503, "not running")
	require.Empty(t, f.aggregator.Arrivals())

	accepted := f.postAction("a", mask(selfish, `,"phone":"4155550177"`))
	require.Equal(t, 200, accepted.status, accepted.text)
	stranger := hubtest.Business(t, f.hub.db)
	read := request{method: "GET", path: fmt.Sprintf("/external/api/v1/actions/%s/", accepted.body["reference"]),
		authorization: stranger.Authorization}
	requireEnvelope(t, f.do(t, read), 404, "no action")
	requireEnvelope(t, f.send("GET", "/external/api/v1/actions/nonsense/", ""), 404, "no action")
}

func TestPermanentlyRejectedActionIsNotRetried(t *testing.T) {
	f := newRelayClient(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) })
	asked := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask","wearing_mask":true}`,
		f.order("a", "A-1", "")))
	read := f.awaitAction(asked.body["reference"], "failed")
	require.Equal(t, "the aggregator responded with 400 Bad Request", read.message())
	require.Len(t, read.body["attempts"], 1)
	require.Len(t, f.aggregator.Arrivals(), 1)
}

func TestOrderInPlatformFormatIsAccepted(t *testing.T) {
	f := newRelayClient(t, nil)
	key := f.newCallbackKey("b")
	const sent = `{"orderId":"B-9","dish":"dal"}`
	taken := f.callBack("b", "order", "Bearer "+key, sent)
	require.Equal(t, 200, taken.status, taken.text)
	again := f.do(t, request{method: "POST", path: "/channel/api/v1/b/callback/order",
		headers: map[string]string{"X-Platform-Secret": key}, body: sent})
	require.Equal(t, taken.body["order_id"], again.body["order_id"])
	placed := f.awaitOrderEvents(1)
	require.Equal(t, []any{"b", taken.body["order_id"]},
		[]any{hubtest.Lookup(placed[0], "order.details.channel"), hubtest.Lookup(placed[0], "order.details.id")})
	require.Contains(t, f.callBack("b", "ping", "Bearer "+key, `{}`).message(), "a ping")

	f.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","platform_data":[{"name":"b","platform_store_id":"R-7"}]}]}`)
	f.awaitCallback(3)
	byItsOwn := f.callBack("b", "order", "Bearer "+key, `{"orderId":"B-11","dish":"dal","store":"R-7"}`)
	require.Equal(t, 200, byItsOwn.status, byItsOwn.text)
	requireEnvelope(t, f.callBack("b", "order", "Bearer "+key, `{"orderId":"B-12","dish":"dal","store":"R-8"}`), 404,
		`platform_store_id "R-8"`)
	requireEnvelope(t, f.callBack("b", "order", "Bearer "+key, `{`), 400, "order:")
	requireEnvelope(t, f.callBack("b", "order", "Bearer "+key, `{"orderId":"B-10","dish":"unknown"}`), 400,
		"price is required")
	requireEnvelope(t, f.callBack("b", "weather", "Bearer "+key, `{}`), 404, "has no callback of the kind")
	for _, wrong := range []string{"", "Bearer", "Bearer " + strings.ToUpper(key), "Basic " + key,
		f.tenant.Authorization} {
		requireEnvelope(t, f.callBack("b", "order", wrong, sent), 401, "callback key")
	}
	requireEnvelope(t, f.callBack("a", "order", "Bearer "+key, sent), 401, "callback key")
	_, err := relay.Callers{Keys: platforms.NewCallers(f.hub.db), Clock: f.clock}.CreateKey(context.Background(),
		f.tenant.ID, "mars")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestRepeatedOrderIsKnownWithoutItsStoreMapping(t *testing.T) {
	f := newRelayClient(t, nil)
	key := "Bearer " + f.newCallbackKey("b")
	mapped := func(id string) {
		f.ok("POST", storesRoute+"?wait=10", fmt.Sprintf(
			`{"stores":[{"ref_id":"s1","platform_data":[{"name":"b","platform_store_id":%q}]}]}`, id))
	}
	mapped("R-7")
	first := f.callBack("b", "order", key, `{"orderId":"B-11","dish":"dal","store":"R-7"}`)
	require.Equal(t, 200, first.status, first.text)
	mapped("R-8")
	again := f.callBack("b", "order", key, `{"orderId":"B-11","dish":"dal","store":"R-7"}`)
	require.Equal(t, 200, again.status, again.text)
	require.Equal(t, "the order already exists and was not changed", again.message())
	require.Equal(t, first.body["order_id"], again.body["order_id"])
	requireEnvelope(t, f.callBack("b", "order", key, `{"orderId":"B-12","dish":"dal","store":"R-7"}`), 404,
		`platform_store_id "R-7"`)
	var rejected []string
	require.NoError(t, f.hub.db.Bun().NewRaw(`SELECT platform_order_id FROM rejected_orders UNION ALL
		SELECT ordering_key FROM calls WHERE order_id = 0`).Scan(t.Context(), &rejected))
	require.Equal(t, []string{"B-12", "refusal:b/B-12"}, rejected)
}
