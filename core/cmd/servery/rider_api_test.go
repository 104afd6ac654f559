package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/web"
)

const (
	riderStatusRoute   = "/ext/api/v1/generic/pos/rider-status/"
	riderLocationRoute = "/ext/api/v1/generic/pos/rider-location/"
)

// agent is a plugin written by hand: it plans a POST of the payload for every
// call, and knows one aggregator's words.
type agent struct {
	mu     sync.Mutex
	down   bool
	faulty relay.Kind // at which it fails
	orders bool       // whether it tells of orders
}

func (a *agent) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

func (a *agent) Plan(_ context.Context, c relay.Call, settings []byte) (relay.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.down:
		return relay.Decision{}, core.Errorf(core.Unavailable, "plugin %s is not running", c.Plugin)
	case a.faulty == c.Kind:
		return relay.Decision{}, core.Errorf(core.Internal, "plugin %s: it failed: a mistake", c.Plugin)
	case !a.orders && (c.Kind == relay.OrderAcknowledge || c.Kind == relay.OrderStatus):
		return relay.Decision{Skip: "the aggregator is not told of orders"}, nil
	case c.Plugin == "aggregator-c":
		return relay.Decision{}, core.Errorf(core.NotFound, "plugin %s relays no riders", c.Plugin)
	case c.Kind == relay.RiderStatus && strings.Contains(string(c.Payload), "NO-RIDER-FOUND"):
		return relay.Decision{Skip: "the aggregator is not told of it"}, nil
	}
	return relay.Decision{Plan: &relay.Plan{
		Endpoint: "api", Hosts: []string{"127.0.0.1"}, Method: "POST", Path: "/" + string(c.Kind) + "/" + c.Order.PlatformOrderID,
		Query: map[string]string{"brand": string(settings)}, Headers: map[string]string{"Content-Type": "application/json", "Idempotency-Key": c.ID.String()},
		Body: c.Payload, Secrets: []relay.SecretHeader{{Header: "X-Key", Secret: "token", Template: "Token {secret}"}}, Success: relay.Success{Final: []int{400}},
	}}, nil
}

func (*agent) Interpret(_ context.Context, c relay.Call, _ []byte, response relay.Response) (relay.Outcome, error) {
	if c.Kind != relay.Action || !strings.Contains(string(c.Payload), action.CustomerData) || response.Status != 202 {
		return relay.Outcome{}, nil
	}
	return relay.Outcome{State: relay.OutcomePending, Message: "it is being looked up"}, nil
}

func (*agent) Actions(_ context.Context, plugin string) ([]string, error) {
	switch plugin {
	case "aggregator-a":
		return []string{action.BodyTemp, action.WithMask, action.AdditionalRider, action.CustomerData}, nil
	case "aggregator-b":
		return nil, nil
	}
	return nil, core.Errorf(core.Unavailable, "plugin %s is not running", plugin)
}

func (*agent) Proof(string, string) (relay.Proof, error) {
	return relay.Proof{}, core.Errorf(core.NotFound, "it reads nothing that proves itself")
}

func (*agent) Read(_ context.Context, in relay.Inbound) (relay.Message, error) {
	var sent struct {
		OrderID string `json:"orderId"`
		Dish    string `json:"dish"`
		Store   string `json:"store"`
		Channel string `json:"platform"` // that it claims to be
		Request string `json:"request"`
		Phone   string `json:"phone"`
	}
	if err := json.Unmarshal(in.Body, &sent); err != nil {
		return relay.Message{Order: in.Body}, core.Errorf(core.Invalid, "%s: %v", in.Kind, err)
	}
	switch in.Kind {
	case "order":
		store := `"store_ref_id":"s1"`
		if sent.Store != "" {
			store = fmt.Sprintf(`"platform_store_id":%q`, sent.Store)
		}
		return relay.Message{Order: fmt.Appendf(nil, `{"platform":%q,"platform_order_id":%q,%s,"delivery_type":"self","items":[{"ref_id":%q,"quantity":1}]}`,
			cmp.Or(sent.Channel, in.Platform), sent.OrderID, store, sent.Dish)}, nil
	case "action":
		outcome := relay.Outcome{State: relay.OutcomeDone, CustomerPhone: sent.Phone, Action: action.CustomerData, PlatformOrderID: sent.OrderID}
		if sent.Request != "" {
			_ = outcome.CallID.UnmarshalText([]byte(sent.Request))
		}
		return relay.Message{Outcome: &outcome}, nil
	case "ping":
		return relay.Message{Ignored: "a ping"}, nil
	}
	return relay.Message{}, core.Errorf(core.NotFound, "plugin %s reads nothing of the kind %q", in.Plugin, in.Kind)
}

// reached says that every platform is at one address.
type reached struct{ address string }

func (r reached) Access(_ context.Context, business core.BusinessID, platform string) (relay.Access, error) {
	return relay.Access{Settings: []byte(platform), Addresses: map[string]string{"api": r.address}, Secrets: map[string]string{"token": fmt.Sprint("t-", business)}}, nil
}

// fleet is a shop with platforms a and b, served by plugins, and their aggregator.
type fleet struct {
	*shop
	agent      *agent
	aggregator *hubtest.Sink
	events     *hubtest.Sink
}

func newFleet(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *fleet {
	t.Helper()
	return newFleetWith(t, nil, answer)
}

func newFleetWith(t *testing.T, change func(*hubConfig), answer func(n int, w http.ResponseWriter, r *http.Request)) *fleet {
	t.Helper()
	f := &fleet{agent: &agent{}, aggregator: hubtest.NewSink(t, answer), events: hubtest.NewEventSink(t, nil)}
	f.shop = newShop(t, func(c *hubConfig) {
		c.plugins, c.platforms = f.agent, reached{strings.TrimSuffix(f.aggregator.URL, "/hook")}
		if change != nil {
			change(c)
		}
	})
	for name, plugin := range map[string]string{"a": "aggregator-a", "b": "aggregator-b", "c": "aggregator-c"} {
		f.servedBy(name, plugin)
	}
	for _, event := range []string{"rider_status_update", "feature_action"} {
		f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, f.events.URL))
	}
	return f
}

// servedBy gives the business a platform.
func (f *fleet) servedBy(name, plugin string) {
	f.t.Helper()
	require.NoError(f.t, postgres.Platforms{DB: f.hub.db}.Set(context.Background(), f.tenant.ID, core.Platform{Name: name, ServedBy: plugin}, func(*relay.Access) error { return nil }))
}

func (f *fleet) order(platform, id, more string) int64 {
	f.t.Helper()
	taken := f.bring("POST", channelOrdersRoute, strings.Replace(orderOf(id, more), `"web"`, `"`+platform+`"`, 1))
	require.Equal(f.t, 200, taken.status, taken.text)
	return int64(taken.body["order_id"].(float64))
}

func (f *fleet) rider(id int64, status, rider string) answered {
	f.t.Helper()
	return f.send("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":%s}`, id, status, rider))
}

const asha = `{"rider_name":"Asha","rider_phone_number":"5550100"}`

// reachedWith waits for the n-th request at the aggregator.
func (f *fleet) reachedWith(n int) hubtest.Arrival {
	f.t.Helper()
	f.waitWhileTimeGoesOn(f.t, "a request at the aggregator", func() bool { return len(f.aggregator.Arrivals()) >= n })
	return f.aggregator.Arrivals()[n-1]
}

func (f *fleet) event(n int) (event map[string]any) {
	f.t.Helper()
	f.waitWhileTimeGoesOn(f.t, "an event", func() bool { return len(f.events.Arrivals()) >= n })
	require.NoError(f.t, json.Unmarshal(f.events.Arrivals()[n-1].Body, &event))
	return event
}

func TestARiderFromAssignedToDelivered(t *testing.T) {
	f := newFleet(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, map[string]any{"status": "success", "message": "rider status ASSIGNED enqueued"}, f.rider(id, "ASSIGNED", asha).body)
	require.Contains(t, f.rider(id, "ASSIGNED", asha).message(), "nothing was done")
	requireEnvelope(t, f.rider(id, "ASSIGNED", `{"rider_name":"Ravi","rider_phone_number":"5550199"}`), 400, "send UNASSIGNED first")
	require.Equal(t, 200, f.rider(id, "UNASSIGNED", `{}`).status)
	require.Equal(t, 200, f.rider(id, "ASSIGNED", `{"rider_name":"Ravi","rider_phone_number":"5550199"}`).status)
	for _, status := range []string{"AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED", "DELIVERED"} {
		require.Equal(t, 200, f.rider(id, status, "null").status)
	}
	requireEnvelope(t, f.rider(id, "UNASSIGNED", "{}"), 409, "DELIVERED already")

	told := []string{}
	for n := 1; n <= 7; n++ {
		arrival := f.reachedWith(n)
		var sent relay.RiderStatusPayload
		require.NoError(t, json.Unmarshal(arrival.Body, &sent))
		told = append(told, sent.Status+" "+sent.Name)
		require.Equal(t, fmt.Sprint("Token t-", f.tenant.ID), arrival.Header.Get("X-Key"))
	}
	require.Equal(t, []string{"ASSIGNED Asha", "UNASSIGNED ", "ASSIGNED Ravi", "AT-STORE Ravi", "OUT-FOR-DELIVERY Ravi", "RIDER-REACHED Ravi", "DELIVERED Ravi"}, told)
	last := f.event(7)
	require.Equal(t, []any{float64(id), "DELIVERED", "self", map[string]any{"name": "Ravi", "phone": "5550199"}, "B-1"}, []any{last["order_id"], at(last, "delivery_info.current_state"),
		at(last, "delivery_info.mode"), at(last, "delivery_info.delivery_person_details"), at(last, "additional_info.external_channel.order_id")})
	require.Len(t, at(last, "delivery_info.status_updates"), 7)

	var rider map[string]any
	waitUntil(t, "the relays on record", func() bool {
		rider = f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body["rider"].(map[string]any)
		return at(rider["history"].([]any)[6], "relay.state") == "done"
	})
	require.Equal(t, []any{"DELIVERED", "Ravi"}, []any{rider["status"], rider["name"]})
	require.Len(t, f.aggregator.Arrivals(), 7, "nothing is told twice")
}

func TestRiderRefusals(t *testing.T) {
	f := newFleet(t, nil)
	partner := f.order("b", "P-1", `,"delivery_type":"partner"`)
	mine := f.order("b", "B-1", `,"delivery_type":"self"`)
	for body, says := range map[string]string{
		`{}`:                                 "order_id is required",
		`{"order_id":"x"}`:                   "order_id must be a positive whole number",
		`{"order_id":1.5}`:                   "order_id must be a positive whole number",
		`{"order_id":1}`:                     "status is required",
		`{"order_id":1,"status":"assigned"}`: "status must be one of: ASSIGNED",
		fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED"}`, partner):        "not self-delivery",
		`{"order_id":1,"status":"ASSIGNED","rider_data":{"rider_name":7}}`: "rider_data.rider_name must be a string",
	} {
		requireEnvelope(t, f.send("POST", riderStatusRoute, body), 400, says)
	}
	requireEnvelope(t, f.rider(99, "ASSIGNED", "{}"), 404, "order_id 99: there is no order with this id")
	require.Equal(t, []any{map[string]any{"path": "order_id", "code": "unknown", "message": "order_id 99: there is no order with this id"}}, f.rider(99, "ASSIGNED", "{}").body["errors"])
	gone := f.order("b", "B-2", `,"delivery_type":"self"`)
	f.ok("PUT", oneOrder(gone)+"status/", `{"new_status":"Cancelled"}`)
	requireEnvelope(t, f.rider(gone, "ASSIGNED", asha), 409, fmt.Sprintf("order %d: the order is Cancelled", gone))
	for _, kind := range []string{"pickup", "dine_in"} {
		id := f.order("web", kind, `,"order_type":"`+kind+`","delivery_type":"self"`)
		requireEnvelope(t, f.rider(id, "ASSIGNED", asha), 400, fmt.Sprintf("order %d: order_id names an order that nobody brings: it is not for delivery", id))
		place := fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"1","longitude":"2"}}`, id)
		requireEnvelope(t, f.send("POST", riderLocationRoute, place), 400, "names an order that nobody brings")
	}
	stranger := hubtest.Business(t, f.hub.db)
	foreign := request{method: "POST", path: riderStatusRoute, authorization: stranger.Authorization, body: fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED"}`, mine)}
	requireEnvelope(t, f.do(t, foreign), 404, "no order")
	for body, says := range map[string]string{
		`{"order_id":1}`: "location.latitude is required",
		`{"order_id":1,"location":{"latitude":"90.01","longitude":"0"}}`:                    "location.latitude must be between -90 and 90",
		`{"order_id":1,"location":{"latitude":"0","longitude":-180.5}}`:                     "location.longitude must be between -180 and 180",
		`{"order_id":1,"location":{"latitude":"north","longitude":"0"}}`:                    "location.latitude must be a decimal number",
		fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"1","longitude":"2"}}`, partner): "not self-delivery",
	} {
		requireEnvelope(t, f.send("POST", riderLocationRoute, body), 400, says)
	}
	requireEnvelope(t, f.send("POST", riderLocationRoute, `{"order_id":99,"location":{"latitude":"1","longitude":"2"}}`), 404, "order_id 99: there is no order")
	require.Empty(t, f.aggregator.Arrivals())
}

func TestAPlaceIsRelayedAsItWasSentOrAsANumber(t *testing.T) {
	f := newFleet(t, nil)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	for n, location := range []string{`{"latitude":"12.9716","longitude":"77.5946"}`, `{"latitude":12.9717,"longitude":-0.5}`} {
		r := f.send("POST", strings.TrimSuffix(riderLocationRoute, "/"), fmt.Sprintf(`{"order_id":"%d","location":%s}`, id, location))
		require.Equal(t, 200, r.status, r.text)
		require.Equal(t, map[string]any{"status": "success", "message": "rider location enqueued"}, r.body)
		require.Contains(t, string(f.reachedWith(n+1).Body), []string{`"latitude":"12.9716","longitude":"77.5946"`, `"latitude":"12.9717","longitude":"-0.5"`}[n])
		f.clock.Advance(relay.PlaceEvery)
	}
	require.Empty(t, f.events.Arrivals(), "places are told to nobody else")
}

func TestAStatusThatNobodyRelaysIsStoredAndTold(t *testing.T) {
	f := newFleet(t, nil)
	for n, c := range []struct{ platform, status, relay, message string }{
		{"web", "ASSIGNED", "", ""}, {"c", "ASSIGNED", "skipped", "relays no riders"}, {"b", "NO-RIDER-FOUND", "skipped", "is not told of it"},
	} {
		id := f.order(c.platform, "1", `,"delivery_type":"self"`)
		require.Equal(t, 200, f.rider(id, c.status, asha).status)
		told := f.event(n + 1)
		require.Equal(t, c.status, at(told, "delivery_info.current_state"))
		person, _ := at(told, "delivery_info.delivery_person_details.name").(string)
		require.Equal(t, c.status == "ASSIGNED", person == "Asha", "nobody is told as the rider who was not found")
		waitUntil(t, "what became of the relay", func() bool {
			step := at(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body, "rider.history").([]any)[0]
			message, _ := at(step, "relay.message").(string)
			state, _ := at(step, "relay.state").(string)
			return state == c.relay && strings.Contains(message, c.message)
		})
	}
	require.Empty(t, f.aggregator.Arrivals())
}

func TestAFailingAggregatorIsAskedAgainOnTheScheduleOfDeliveries(t *testing.T) {
	f := newFleet(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 6 {
			w.WriteHeader(500)
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.rider(id, "ASSIGNED", "{}").status)
	require.Equal(t, 200, f.rider(id, "AT-STORE", "{}").status)
	relayState := func(n int) any {
		return at(at(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body, "rider.history").([]any)[n], "relay.message")
	}
	waitUntil(t, "the failure on record", func() bool { return relayState(0) == "the aggregator answered 500 Internal Server Error" })
	waitUntil(t, "the attempt that is accepted", func() bool {
		f.clock.Advance(time.Second)
		return len(f.aggregator.Arrivals()) >= 6
	})
	require.Contains(t, string(f.reachedWith(7).Body), "AT-STORE")
	first := f.reachedWith(1).Header.Get("Idempotency-Key")
	require.Equal(t, first, f.reachedWith(6).Header.Get("Idempotency-Key"), "one call has one key")
	require.NotEqual(t, first, f.reachedWith(7).Header.Get("Idempotency-Key"))
}

func TestACallWaitsForItsPlugin(t *testing.T) {
	f := newFleet(t, nil)
	f.agent.setDown(true)
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.rider(id, "ASSIGNED", "{}").status)
	waitUntil(t, "the reason on record", func() bool {
		message, _ := at(at(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body, "rider.history").([]any)[0], "relay.message").(string)
		return strings.Contains(message, "aggregator-b is not running")
	})
	f.agent.setDown(false)
	f.clock.Advance(2 * time.Second)
	require.Contains(t, string(f.reachedWith(1).Body), "ASSIGNED")
}

func TestACallAtWhichItsPluginFailsIsGivenUpAndTold(t *testing.T) {
	f := newFleet(t, nil)
	f.agent.mu.Lock()
	f.agent.faulty = relay.Action
	f.agent.mu.Unlock()
	id := f.order("a", "880142173", `,"delivery_type":"self"`)
	reference := f.ask("a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id)).body["reference"]
	require.Equal(t, 200, f.rider(id, "ASSIGNED", asha).status)
	f.reachedWith(1) // the order's other calls go on
	waitUntil(t, "the schedule to end", func() bool {
		f.clock.Advance(time.Second)
		return len(f.events.Arrivals()) == 2
	})
	told := f.event(2)
	if told["status"] == nil { // that of the rider
		told = f.event(1)
	}
	require.Equal(t, []any{"failed", "the plugin did not plan the call: plugin aggregator-a: it failed: a mistake"}, []any{told["status"], told["message"]})
	f.became(reference, "failed")
	require.Len(t, f.aggregator.Arrivals(), 1)
}

func TestACallIsTriedAgainWhenItsAggregatorWantsIt(t *testing.T) {
	f := newFleet(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "300")
			w.WriteHeader(429)
		}
	})
	id := f.order("b", "B-1", `,"delivery_type":"self"`)
	require.Equal(t, 200, f.rider(id, "ASSIGNED", asha).status)
	waitUntil(t, "the failure on record", func() bool {
		message, _ := at(at(f.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body, "rider.history").([]any)[0], "relay.message").(string)
		return strings.Contains(message, "429")
	})
	f.clock.Advance(299 * time.Second)
	require.Len(t, f.aggregator.Arrivals(), 1)
	f.clock.Advance(time.Second)
	f.reachedWith(2)
}

func TestRidersAreThrottled(t *testing.T) {
	a := newAPI(t, func(c *hubConfig) {
		c.limits[web.LimitLocation] = limit.Rule{Count: 1, Per: time.Minute, Block: time.Minute}
	})
	tenant := hubtest.Business(t, a.hub.db)
	send := func(path string) answered {
		return a.do(t, request{method: "POST", path: path, authorization: tenant.Authorization, body: `{}`})
	}
	require.Equal(t, "0", send(riderLocationRoute).header.Get("RateLimit-Remaining"))
	requireEnvelope(t, send(riderLocationRoute), 429, "at most 1 in 1m")
	require.Equal(t, "99", send(riderStatusRoute).header.Get("RateLimit-Remaining"))
}
