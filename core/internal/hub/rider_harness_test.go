package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

const (
	riderStatusRoute   = "/ext/api/v1/generic/pos/rider-status/"
	riderLocationRoute = "/ext/api/v1/generic/pos/rider-location/"
)

// fakePlugins is a handwritten plugin. It plans a POST of the payload for every call, and interprets the responses of
// one aggregator.
type fakePlugins struct {
	mu     sync.Mutex
	down   bool
	faulty relay.Kind // kind of calls that fail
	orders bool       // whether it reads orders
}

func (a *fakePlugins) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

func (a *fakePlugins) Plan(_ context.Context, c relay.Call, settings []byte) (relay.Decision, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.down:
		return relay.Decision{}, core.Errorf(core.Unavailable, "plugin %s is not running", c.Plugin)
	case a.faulty == c.Kind:
		return relay.Decision{}, core.Errorf(core.Internal, "plugin %s: failed: a mistake", c.Plugin)
	case !a.orders && (c.Kind == relay.OrderAcknowledge || c.Kind == relay.OrderStatus):
		return relay.Decision{Skip: "the aggregator gets no orders"}, nil
	case c.Plugin == "aggregator-c":
		return relay.Decision{}, core.Errorf(core.NotFound, "plugin %s relays no riders", c.Plugin)
	case c.Kind == relay.RiderStatus && strings.Contains(string(c.Payload), "NO-RIDER-FOUND"):
		return relay.Decision{Skip: "the aggregator does not get it"}, nil
	}
	return relay.Decision{Plan: &relay.Plan{
		Endpoint: "api", Hosts: []string{"127.0.0.1"}, Method: "POST",
		Path:    "/" + string(c.Kind) + "/" + c.Order.PlatformOrderID,
		Query:   map[string]string{"brand": string(settings)},
		Headers: map[string]string{"Content-Type": "application/json", "Idempotency-Key": c.ID.String()},
		Body:    c.Payload, Secrets: []relay.SecretHeader{{Header: "X-Key", Secret: "token",
			Template: "Token {secret}"}},
		Success: relay.Success{Final: []int{400}},
	}}, nil
}

func (a *fakePlugins) Serves(string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.down
}

func (*fakePlugins) Interpret(_ context.Context, c relay.Call, _ []byte,
	response relay.Response) (relay.Outcome, error) {
	if c.Kind != relay.Action || !strings.Contains(string(c.Payload), action.CustomerData) || response.Status != 202 {
		return relay.Outcome{}, nil
	}
	return relay.Outcome{State: relay.OutcomePending, Message: "it is being looked up"}, nil
}

// ownActions are two actions of the platform itself. The second has no parameters.
var ownActions = []action.Offer{{Name: "delay_order", Title: "Delay the order", SendsEvent: true, Schema: []byte(`{
	"type": "object", "required": ["minutes"], "additionalProperties": false, "properties": {
		"minutes": {"type": "integer", "minimum": 1, "maximum": 60, "description": "how much later"},
		"reason": {"enum": ["busy", "rider"]},
		"lines": {"type": "array", "items": {"type": "object", "properties": {"count": {"type": "integer"}}}}}}`)},
	{Name: "call_support", Title: "Call support"}}

func (*fakePlugins) Actions(_ context.Context, plugin string) ([]action.Offer, error) {
	switch plugin {
	case "aggregator-a":
		return append([]action.Offer{{Name: action.BodyTemp}, {Name: action.WithMask}, {Name: action.AdditionalRider},
			{Name: action.CustomerData}}, ownActions...), nil
	case "aggregator-b":
		return nil, nil
	}
	return nil, core.Errorf(core.Unavailable, "plugin %s is not running", plugin)
}

func (*fakePlugins) ParameterProblems(schema, parameters []byte) []core.Violation {
	return pluginhost.ParameterProblems(schema, parameters)
}

func (*fakePlugins) Verification(string, string) (relay.CallbackVerification, error) {
	return relay.CallbackVerification{}, core.Errorf(core.NotFound, "it reads nothing that proves itself")
}

func (*fakePlugins) HasOrder(in relay.InboundRequest) (string, bool) {
	return order.OrderIDAt("/orderId", "", in.Body), in.Kind == "order"
}

func (a *fakePlugins) Read(_ context.Context, in relay.InboundRequest) (relay.Message, error) {
	a.mu.Lock()
	down := a.down
	a.mu.Unlock()
	if down {
		return relay.Message{}, core.Errorf(core.Unavailable, "plugin %s is quarantined", in.Plugin)
	}
	var sent struct {
		OrderID string `json:"orderId"`
		Dish    string `json:"dish"`
		Store   string `json:"store"`
		Channel string `json:"platform"` // the platform that the request names
		Request string `json:"request"`
		Phone   string `json:"phone"`
	}
	if err := json.Unmarshal(in.Body, &sent); err != nil {
		return relay.Message{}, core.Errorf(core.Invalid, "%s: %v", in.Kind, err)
	}
	switch in.Kind {
	case "order":
		store := `"store_ref_id":"s1"`
		if sent.Store != "" {
			store = fmt.Sprintf(`"platform_store_id":%q`, sent.Store)
		}
		return relay.Message{Order: fmt.Appendf(nil,
			`{"platform":%q,"platform_order_id":%q,%s,"delivery_type":"self","items":[{"ref_id":%q,"quantity":1}]}`,
			cmp.Or(sent.Channel, in.Platform), sent.OrderID, store, sent.Dish)}, nil
	case "action":
		outcome := relay.Outcome{State: relay.OutcomeDone, CustomerPhone: sent.Phone, Action: action.CustomerData,
			PlatformOrderID: sent.OrderID}
		if sent.Request != "" {
			_ = outcome.CallID.UnmarshalText([]byte(sent.Request))
		}
		return relay.Message{Outcome: &outcome}, nil
	case "ping":
		return relay.Message{Ignored: "a ping"}, nil
	}
	return relay.Message{}, core.Errorf(core.NotFound, "plugin %s has no callback of the kind %q", in.Plugin, in.Kind)
}

// fixedPlatforms gives every platform the same URL.
type fixedPlatforms struct{ address string }

func (r fixedPlatforms) Access(_ context.Context, business core.BusinessID, platform string) (relay.Access, error) {
	return relay.Access{Settings: []byte(platform), BaseURLs: map[string]string{"api": r.address},
		Secrets: map[string]string{"token": fmt.Sprint("t-", business)}}, nil
}

// relayClient is an orderClient with platforms a and b, served by plugins, and their aggregator.
type relayClient struct {
	*orderClient
	agent      *fakePlugins
	aggregator *hubtest.Sink
	events     *hubtest.Sink
}

func newRelayClient(t *testing.T, response func(n int, w http.ResponseWriter, r *http.Request)) *relayClient {
	t.Helper()
	return newRelayClientWith(t, nil, response)
}

func newRelayClientWith(t *testing.T, change func(*Config),
	response func(n int, w http.ResponseWriter, r *http.Request)) *relayClient {
	t.Helper()
	f := &relayClient{agent: &fakePlugins{}, aggregator: hubtest.NewSink(t, response), events: hubtest.NewEventSink(t,
		nil)}
	f.orderClient = newOrderClient(t, func(c *Config) {
		c.Plugins, c.Platforms = f.agent, fixedPlatforms{strings.TrimSuffix(f.aggregator.URL, "/hook")}
		if change != nil {
			change(c)
		}
	})
	for name, plugin := range map[string]string{"a": "aggregator-a", "b": "aggregator-b", "c": "aggregator-c"} {
		f.addPlatform(name, plugin)
	}
	for _, event := range []string{"rider_status_update", "feature_action"} {
		f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, f.events.URL))
	}
	return f
}

// addPlatform creates a platform of the business.
func (f *relayClient) addPlatform(name, plugin string) {
	f.t.Helper()
	require.NoError(f.t, platforms.New(f.hub.db).Set(context.Background(), f.tenant.ID,
		core.Platform{Name: name, ServedBy: plugin}, func(*relay.Access) error { return nil }))
}

func (f *relayClient) order(platform, id, more string) int64 {
	f.t.Helper()
	taken := f.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf(id, more), `"web"`, `"`+platform+`"`,
		1))
	require.Equal(f.t, 200, taken.status, taken.text)
	return int64(taken.body["order_id"].(float64))
}

func (f *relayClient) postRiderStatus(id int64, status, rider string) apiResponse {
	f.t.Helper()
	return f.send("POST", riderStatusRoute,
		fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":%s}`, id, status, rider))
}

const riderData = `{"rider_name":"Asha","rider_phone_number":"5550100"}`

// awaitAggregatorRequest waits for the n-th request to the aggregator.
func (f *relayClient) awaitAggregatorRequest(n int) hubtest.Arrival {
	f.t.Helper()
	f.waitAdvancing(f.t, "a request at the aggregator", func() bool { return len(f.aggregator.Arrivals()) >= n })
	return f.aggregator.Arrivals()[n-1]
}

func (f *relayClient) awaitRiderEvent(n int) (event map[string]any) {
	f.t.Helper()
	events := func() []hubtest.Arrival { return f.events.Distinct(webhook.HeaderID) }
	f.waitAdvancing(f.t, "an event", func() bool { return len(events()) >= n })
	require.NoError(f.t, json.Unmarshal(events()[n-1].Body, &event))
	return event
}
