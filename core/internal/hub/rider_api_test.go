package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web"
)

func TestRiderLifecycleThroughTheAPI(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, map[string]any{"status": "success", "message": "rider status ASSIGNED enqueued"},
		f.postRiderStatus(id, "ASSIGNED", riderData).body)
	require.Contains(t, f.postRiderStatus(id, "ASSIGNED", riderData).message(), "nothing changed")
	requireEnvelope(t, f.postRiderStatus(id, "ASSIGNED", `{"rider_name":"Ravi","rider_phone_number":"5550199"}`), 400,
		"send UNASSIGNED first")
	require.Equal(t, 200, f.postRiderStatus(id, "UNASSIGNED", `{}`).status)
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED",
		`{"rider_name":"Ravi","rider_phone_number":"5550199"}`).status)
	for _, status := range []string{"AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED", "DELIVERED"} {
		require.Equal(t, 200, f.postRiderStatus(id, status, "null").status)
	}
	requireEnvelope(t, f.postRiderStatus(id, "UNASSIGNED", "{}"), 409, "already DELIVERED")

	reported := []string{}
	for n := 1; n <= 7; n++ {
		arrival := f.awaitAggregatorRequest(n)
		var sent relay.RiderStatusPayload
		require.NoError(t, json.Unmarshal(arrival.Body, &sent))
		reported = append(reported, sent.Status+" "+sent.Name)
		require.Equal(t, fmt.Sprint("Token t-", f.tenant.ID), arrival.Header.Get("X-Key"))
	}
	require.Equal(t, []string{"ASSIGNED Asha", "UNASSIGNED ", "ASSIGNED Ravi", "AT-STORE Ravi", "OUT-FOR-DELIVERY Ravi",
		"RIDER-REACHED Ravi", "DELIVERED Ravi"}, reported)
	last := f.awaitRiderEvent(7)
	require.Equal(t, []any{float64(id), "DELIVERED", "self", map[string]any{"name": "Ravi", "phone": "5550199",
		"alt_phone": "", "user_id": nil}, "B-1"},
		[]any{last["order_id"], hubtest.Lookup(last, "delivery_info.current_state"),
			hubtest.Lookup(last, "delivery_info.mode"), hubtest.Lookup(last, "delivery_info.delivery_person_details"),
			hubtest.Lookup(last, "additional_info.external_channel.order_id")})
	require.Len(t, hubtest.Lookup(last, "delivery_info.status_updates"), 7)

	var rider map[string]any
	hubtest.WaitUntil(t, "the relays on record", func() bool {
		rider = f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body["rider"].(map[string]any)
		return hubtest.Lookup(rider["history"].([]any)[6], "relay.state") == "done"
	})
	require.Equal(t, []any{"DELIVERED", "Ravi"}, []any{rider["status"], rider["name"]})
	require.Len(t, f.aggregator.Arrivals(), 7, "nothing is sent twice")
}

func TestInvalidRiderUpdatesAreRejected(t *testing.T) {
	f := newRelayClient(t, nil)
	partner := f.order("b", "P-1", `,"delivery_type":"partner"`)
	mine := f.order("b", "B-1", `,"delivery_type":"self"`)
	for body, says := range map[string]string{
		`{}`:                                 "order_id is required",
		`{"order_id":"x"}`:                   "order_id must be a positive whole number",
		`{"order_id":1.5}`:                   "order_id must be a positive whole number",
		`{"order_id":1}`:                     "status is required",
		`{"order_id":1,"status":"assigned"}`: "status must be one of: ASSIGNED",
		fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED"}`, partner):        "not a self-delivery",
		`{"order_id":1,"status":"ASSIGNED","rider_data":{"rider_name":7}}`: "rider_data.rider_name must be a string",
	} {
		requireEnvelope(t, f.send("POST", riderStatusRoute, body), 400, says)
	}
	requireEnvelope(t, f.postRiderStatus(99, "ASSIGNED", "{}"), 404, "order_id 99: there is no order with this id")
	require.Equal(t, []any{map[string]any{"path": "order_id", "code": "unknown",
		"message": "order_id 99: there is no order with this id"}},
		f.postRiderStatus(99, "ASSIGNED", "{}").body["errors"])
	gone := f.order("b", "B-2", `,"delivery_type":"self"`)
	f.ok("PUT", oneOrder(gone)+"status/", `{"new_status":"Cancelled"}`)
	requireEnvelope(t, f.postRiderStatus(gone, "ASSIGNED", riderData), 409,
		fmt.Sprintf("order %d: the order is Cancelled", gone))
	for _, kind := range []string{"pickup", "dine_in"} {
		id := f.order("web", kind, `,"order_type":"`+kind+`","delivery_type":"self"`)
		requireEnvelope(t, f.postRiderStatus(id, "ASSIGNED", riderData), 400,
			fmt.Sprintf("order %d: order_id is not a delivery order, so it has no rider", id))
		place := fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"1","longitude":"2"}}`, id)
		requireEnvelope(t, f.send("POST", riderLocationRoute, place), 400, "is not a delivery order")
	}
	stranger := hubtest.Business(t, f.hub.db)
	foreign := request{method: "POST", path: riderStatusRoute, authorization: stranger.Authorization,
		body: fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED"}`, mine)}
	requireEnvelope(t, f.do(t, foreign), 404, "no order")
	for body, says := range map[string]string{
		`{"order_id":1}`: "location.latitude is required",
		`{"order_id":1,"location":{"latitude":"90.01","longitude":"0"}}`: "location." +
			"latitude must be between -90 and 90",
		`{"order_id":1,"location":{"latitude":"0","longitude":-180.5}}`: "location.longitude " +
			"must be between -180 and 180",
		`{"order_id":1,"location":{"latitude":"north","longitude":"0"}}`: "location.latitude must " +
			"be a decimal number",
		fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"1","longitude":"2"}}`, partner): "not a self-delivery",
	} {
		requireEnvelope(t, f.send("POST", riderLocationRoute, body), 400, says)
	}
	requireEnvelope(t, f.send("POST", riderLocationRoute,
		`{"order_id":99,"location":{"latitude":"1","longitude":"2"}}`), 404, "order_id 99: there is no order")
	require.Empty(t, f.aggregator.Arrivals())
}

func TestRiderLocationIsSentToTheAggregator(t *testing.T) {
	f := newRelayClient(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	for n, location := range []string{`{"latitude":"12.9716","longitude":"77.5946"}`,
		`{"latitude":12.9717,"longitude":-0.5}`} {
		r := f.send("POST", strings.TrimSuffix(riderLocationRoute, "/"),
			fmt.Sprintf(`{"order_id":"%d","location":%s}`, id, location))
		require.Equal(t, 200, r.status, r.text)
		require.Equal(t, map[string]any{"status": "success", "message": "rider location enqueued"}, r.body)
		require.Contains(t, string(f.awaitAggregatorRequest(n+1).Body),
			[]string{`"latitude":"12.9716","longitude":"77.5946"`, `"latitude":"12.9717","longitude":"-0.5"`}[n])
		f.clock.Advance(relay.LocationInterval)
	}
	require.Empty(t, f.events.Arrivals(), "nobody else gets the places")
}

func TestUnsupportedRiderStatusIsStoredAndPublished(t *testing.T) {
	f := newRelayClient(t, nil)
	for n, c := range []struct{ platform, status, relay, message string }{
		{"web", "ASSIGNED", "", ""}, {"c", "ASSIGNED", "skipped", "relays no riders"},
		{"b", "NO-RIDER-FOUND", "skipped", "does not get it"},
	} {
		id := f.order(c.platform, "1", `,"delivery_type":"self"`)
		require.Equal(t, 200, f.postRiderStatus(id, c.status, riderData).status)
		reported := f.awaitRiderEvent(n + 1)
		require.Equal(t, c.status, hubtest.Lookup(reported, "delivery_info.current_state"))
		person, _ := hubtest.Lookup(reported, "delivery_info.delivery_person_details.name").(string)
		require.Equal(t, c.status == "ASSIGNED", person == "Asha", "no rider is named who was not found")
		hubtest.WaitUntil(t, "what became of the relay", func() bool {
			read := f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body
			step := hubtest.Lookup(read, "rider.history").([]any)[0]
			message, _ := hubtest.Lookup(step, "relay.message").(string)
			state, _ := hubtest.Lookup(step, "relay.state").(string)
			return state == c.relay && strings.Contains(message, c.message)
		})
	}
	require.Empty(t, f.aggregator.Arrivals())
}

func TestFailingAggregatorCallIsRetriedOnSchedule(t *testing.T) {
	f := newRelayClient(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 6 {
			w.WriteHeader(500)
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", "{}").status)
	require.Equal(t, 200, f.postRiderStatus(id, "AT-STORE", "{}").status)
	relayState := func(n int) any {
		return hubtest.Lookup(hubtest.Lookup(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body,
			"rider.history").([]any)[n],
			"relay.message")
	}
	hubtest.WaitUntil(t, "the failure on record",
		func() bool { return relayState(0) == "the aggregator responded with 500 Internal Server Error" })
	hubtest.WaitUntil(t, "the attempt that is accepted", func() bool {
		f.clock.Advance(time.Second)
		return len(f.aggregator.Arrivals()) >= 6
	})
	require.Contains(t, string(f.awaitAggregatorRequest(7).Body), "AT-STORE")
	first := f.awaitAggregatorRequest(1).Header.Get("Idempotency-Key")
	require.Equal(t, first, f.awaitAggregatorRequest(6).Header.Get("Idempotency-Key"), "one call has one key")
	require.NotEqual(t, first, f.awaitAggregatorRequest(7).Header.Get("Idempotency-Key"))
}

func TestCallWaitsForItsPlugin(t *testing.T) {
	f := newRelayClient(t, nil)
	f.agent.setDown(true)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", "{}").status)
	hubtest.WaitUntil(t, "the reason on record", func() bool {
		message, _ := hubtest.Lookup(hubtest.Lookup(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body,
			"rider.history").([]any)[0],
			"relay.message").(string)
		return strings.Contains(message, "aggregator-b is not running")
	})
	f.agent.setDown(false)
	f.clock.Advance(2 * time.Second)
	require.Contains(t, string(f.awaitAggregatorRequest(1).Body), "ASSIGNED")
}

func TestCallFailsAfterRepeatedPluginErrors(t *testing.T) {
	f := newRelayClient(t, nil)
	f.agent.mu.Lock()
	f.agent.faulty = relay.Action
	f.agent.mu.Unlock()
	id := f.order("a", "880142173", `,"delivery_type":"self"`)
	reference := f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id)).body["reference"]
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", riderData).status)
	f.awaitAggregatorRequest(1) // other calls of the order continue
	hubtest.WaitUntil(t, "the schedule to end", func() bool {
		f.clock.Advance(time.Second)
		return len(f.events.Distinct(webhook.HeaderID)) >= 2
	})
	reported := f.awaitRiderEvent(2)
	if reported["status"] == nil { // the call of the rider status
		reported = f.awaitRiderEvent(1)
	}
	require.Equal(t, []any{"failed", "planning the call failed: plugin aggregator-a: failed: a mistake"},
		[]any{reported["status"], reported["message"]})
	f.awaitAction(reference, "failed")
	require.Len(t, f.aggregator.Distinct("Idempotency-Key"), 1)
}

func TestCallRetryHonoursRetryAfter(t *testing.T) {
	f := newRelayClient(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "300")
			w.WriteHeader(429)
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", riderData).status)
	hubtest.WaitUntil(t, "the failure on record", func() bool {
		message, _ := hubtest.Lookup(hubtest.Lookup(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body,
			"rider.history").([]any)[0],
			"relay.message").(string)
		return strings.Contains(message, "429")
	})
	f.clock.Advance(299 * time.Second)
	require.Len(t, f.aggregator.Arrivals(), 1)
	f.clock.Advance(time.Second)
	f.awaitAggregatorRequest(2)
}

func TestRiderUpdatesAreThrottled(t *testing.T) {
	a := newAPI(t, func(c *Config) {
		c.Limits[web.LimitLocation] = limit.Rule{Count: 1, Per: time.Minute, Block: time.Minute}
	})
	tenant := hubtest.Business(t, a.hub.db)
	send := func(path string) apiResponse {
		return a.do(t, request{method: "POST", path: path, authorization: tenant.Authorization, body: `{}`})
	}
	require.Equal(t, "0", send(riderLocationRoute).header.Get("RateLimit-Remaining"))
	requireEnvelope(t, send(riderLocationRoute), 429, "at most 1 in 1m")
	require.Equal(t, "99", send(riderStatusRoute).header.Get("RateLimit-Remaining"))
}
