package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/simulator"
)

// simulatorClient is an orderClient with the simulated aggregators. It uses the hub's own plugins.
type simulatorClient struct {
	*orderClient
	sim          *simulator.Simulator
	space        string
	hubURL       string        // of the hub
	simulatorURL string        // of the simulator
	events       *hubtest.Sink // events of riders and actions
}

// newSimulatorClient starts the plugins of the given aggregators, by default all three.
func newSimulatorClient(t *testing.T, plugins ...string) *simulatorClient {
	t.Helper()
	dir := t.TempDir()
	if len(plugins) == 0 {
		plugins = []string{"aggregator-a", "aggregator-b", "aggregator-c"}
	}
	for _, id := range plugins {
		installtest.Plugin(t, dir, id, "../../../plugins/"+strings.ReplaceAll(id, "-", ""))
	}
	a := newPluginAPI(t, dir, unlimited)
	hubtest.WaitUntil(t, "every plugin to start, after a failed start too", func() bool {
		return !slices.ContainsFunc(a.hub.config.Host.Status(),
			func(s pluginhost.Status) bool { return s.Description == nil })
	})
	hubAt, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	simulatorAt, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := "http://" + simulatorAt.Addr().String()
	sim, err := simulator.New(simulator.Config{CallbackAfter: time.Millisecond,
		Directory: sandbox.NewAccounts(a.hub.db, address,
			"http://"+hubAt.Addr().String())})
	require.NoError(t, err)
	playing, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- a.hub.server.App.Listener(hubAt) }()
	go func() { ended <- sim.Serve(playing, simulatorAt) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, a.hub.server.App.ShutdownWithTimeout(10*time.Second))
		<-ended
		<-ended
	})
	s := &simulatorClient{orderClient: newOrderClientAt(newMenuClientAt(t, a)), sim: sim,
		hubURL: "http://" + hubAt.Addr().String(), simulatorURL: address,
		events: hubtest.NewEventSink(t, nil)}
	s.space = strconv.FormatInt(int64(s.tenant.ID), 10)
	for _, event := range []string{"rider_status_update", "feature_action"} {
		s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, s.events.URL))
	}
	require.NoError(t, sandbox.Setup(t.Context(), a.hub.db, s.tenant.ID, plugins, address))
	return s
}

// orderableMenu returns what customers of a platform can order.
func (s *simulatorClient) orderableMenu() simulator.Menu {
	return simulator.Menu{Store: "s1", Items: []simulator.Item{{Ref: "dal", Title: "Dal", Price: "9.5",
		OptionGroups: []simulator.OptionGroup{{Max: -1, Options: []simulator.Option{{Ref: "hot", Title: "Hot",
			Price: "0.5"}}}}}}}
}

// placeOrder places the n-th order of a platform. It returns the ids at the hub and at the aggregator.
func (s *simulatorClient) placeOrder(platform string, n int, wish simulator.OrderSpec) (id int64, its string) {
	s.t.Helper()
	basket, err := s.orderableMenu().RandomBasket(wish, 1, n)
	require.NoError(s.t, err)
	sent, err := s.sim.Place(s.t.Context(), s.space, platform, basket)
	require.NoError(s.t, err)
	require.Equal(s.t, []any{200, "order accepted"}, []any{sent.Status, sent.Message})
	return sent.HubOrder, sent.ID
}

// awaitAggregatorCalls waits until the aggregator has received a number of calls about an order.
func (s *simulatorClient) awaitAggregatorCalls(platform, order string, call simulator.Call, n int) []string {
	s.t.Helper()
	var whats []string
	s.waitAdvancing(s.t, fmt.Sprint(n, " of ", call), func() bool {
		whats = nil
		for _, step := range s.aggregatorOrder(platform, order).Steps {
			if step.Call == call {
				whats = append(whats, step.What)
			}
		}
		return len(whats) >= n
	})
	return whats
}

// aggregatorOrder returns an order at the aggregator, by the aggregator's id, if it exists.
func (s *simulatorClient) aggregatorOrder(platform, its string) (known simulator.Order) {
	s.t.Helper()
	r := hubtest.Call(s.t, "GET", s.simulatorURL+"/admin/"+s.space+"/"+platform+"/orders/"+its, "", nil)
	require.NoError(s.t, json.Unmarshal(r.Body, &known))
	return known
}

// setFault activates a fault.
func (s *simulatorClient) setFault(f simulator.Fault) {
	s.t.Helper()
	require.Equal(s.t, 200, hubtest.Call(s.t, "POST", s.simulatorURL+"/admin/faults", "", f).Status)
}

var selfDelivery = simulator.OrderSpec{Mode: simulator.Delivery, DeliveredBy: simulator.BySelf}

func TestOrdersAreAcceptedInEveryAggregatorFormat(t *testing.T) {
	s := newSimulatorClient(t)
	for n, platform := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		id, its := s.placeOrder(platform, n, simulator.OrderSpec{Mode: simulator.Delivery,
			DeliveredBy: simulator.ByPartner})
		placed := s.awaitOrderEvents(n + 1)[n]
		basket, err := s.orderableMenu().RandomBasket(simulator.OrderSpec{Mode: simulator.Delivery,
			DeliveredBy: simulator.ByPartner}, 1, n)
		require.NoError(t, err)
		details := hubtest.Lookup(placed, "order.details").(map[string]any)
		channel := details["ext_platforms"].([]any)[0]
		require.Equal(t, []any{float64(id), platform, its, "partner", basket.Customer.Name, basket.Customer.Phone,
			basket.Note, "s1"}, []any{
			details["id"], details["channel"], hubtest.Lookup(channel, "id"), hubtest.Lookup(channel, "delivery_type"),
			hubtest.Lookup(placed, "customer.name"), hubtest.Lookup(placed, "customer.phone"),
			details["instructions"], hubtest.Lookup(placed, "order.store.merchant_ref_id")})
		item := hubtest.Lookup(placed, "order.items").([]any)[0]
		require.Equal(t, []any{"dal", 9.5, float64(basket.Lines[0].Quantity)},
			[]any{hubtest.Lookup(item, "merchant_id"), hubtest.Lookup(item, "price"), hubtest.Lookup(item, "quantity")})
		require.Len(t, hubtest.Lookup(item, "options_to_add"), len(basket.Lines[0].Options))
	}
	// A duplicate creates no second order.
	s.setFault(simulator.Fault{Kind: simulator.FaultDuplicate, Times: 1})
	s.placeOrder("aggregator-b", 7, selfDelivery)
	s.placeOrder("aggregator-b", 8, selfDelivery)
	basket, err := s.orderableMenu().RandomBasket(selfDelivery, 1, 8)
	require.NoError(t, err)
	edited, err := s.sim.Place(t.Context(), s.space, "aggregator-b", basket.Edited())
	require.NoError(t, err)
	require.Contains(t, edited.Message, "was not changed",
		"an aggregator that sends a changed order gets a response")
	s.awaitOrderEvents(5)
	require.Len(t, s.orderEvents(), 5)

	refused, err := s.sim.Message(t.Context(), s.space, "aggregator-b", "order", []byte(`{"orderId":"B-1"}`))
	require.NoError(t, err)
	require.Equal(t, 400, refused.Status)
	require.Contains(t, refused.Message, "restaurantRef")
	stranger := hubtest.Business(t, s.hub.db)
	_, err = s.sim.Message(t.Context(), fmt.Sprint(stranger.ID), "aggregator-b", "order", []byte(`{}`))
	require.ErrorIs(t, err, simulator.ErrNoAccount, "a business whose platforms are elsewhere is not spoken for")
}

func TestRiderUpdatesReachTheAggregatorInOrder(t *testing.T) {
	s := newSimulatorClient(t, "aggregator-b")
	id, its := s.placeOrder("aggregator-b", 1, selfDelivery)
	move := func(status string) {
		t.Helper()
		s.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":%s}`, id, status,
			riderData))
	}
	for _, status := range []string{"ASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY"} {
		move(status)
	}
	for n := range 3 {
		s.ok("POST", riderLocationRoute,
			fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"37.8%d","longitude":"-122.27"}}`, id, n))
		s.clock.Advance(time.Millisecond)
	}
	var order simulator.Order
	s.waitAdvancing(t, "the last place", func() bool {
		order = s.aggregatorOrder("aggregator-b", its)
		return order.Location != nil && order.Location.Latitude == 37.82
	})
	move("RIDER-REACHED")
	move("DELIVERED")
	require.Equal(t, []string{"rider_assigned Asha", "rider_at_store Asha", "picked_up Asha", "rider_at_customer Asha",
		"delivered Asha"},
		s.awaitAggregatorCalls("aggregator-b", its, simulator.CallRiderStatus, 5))
}

func TestAggregatorProvidesTheCustomerContact(t *testing.T) {
	s := newSimulatorClient(t, "aggregator-a")
	id, its := s.placeOrder("aggregator-a", 1, selfDelivery)
	for n, body := range []string{`"action":"fetch_customer_data"`, `"action":"rider_with_mask","wearing_mask":true`} {
		s.ok("POST", fmt.Sprintf(actionRoute, "aggregator-a"), fmt.Sprintf(`{"order_id":"%d",%s}`, id, body))
		require.Equal(t, []string{"fetch_customer_data", "rider_with_mask true"}[n],
			s.awaitAggregatorCalls("aggregator-a", its, simulator.CallAction, n+1)[n])
	}
	s.waitAdvancing(t, "the contact", func() bool { return len(s.events.Arrivals()) >= 1 })
	body := string(s.events.Arrivals()[0].Body)
	require.Contains(t, body, `"customer_phone":"+1510556`)
	require.Contains(t, body, `"platform_order_id":`+its)
}

func TestOutOfStockReportsReachAggregatorAndPOS(t *testing.T) {
	s := newSimulatorClient(t)
	events := s.subscribeToStockReports()
	for n, platform := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		id, its := s.placeOrder(platform, n, selfDelivery)
		s.setFault(simulator.Fault{Kind: simulator.FaultFail, Status: 500, Call: simulator.CallItemsOOS, Times: 1})
		s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Food Ready"}`)
		reported := s.ok("POST", itemsOOSRoute,
			fmt.Sprintf(`{"order_upipr_id":%d,"allow_edit":true,"items_oos":[{"ref_id":"dal"},{"ref_id":"dal"}]}`, id))
		s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Dispatched"}`)
		require.Equal(t, []string{"out of stock: dal; the customer may edit the order"},
			s.awaitAggregatorCalls(platform, its, simulator.CallItemsOOS, 1))
		s.awaitAggregatorCalls(platform, its, simulator.CallStatus, 2)
		var calls []simulator.Call
		for _, step := range s.aggregatorOrder(platform, its).Steps {
			calls = append(calls, step.Call)
		}
		require.Equal(t, []simulator.Call{simulator.CallDecision, simulator.CallStatus, simulator.CallItemsOOS,
			simulator.CallStatus}, calls, "in their order, though one was refused at first")
		event := events(n + 1)[n]
		require.Equal(t, []any{true, reported.body["reference_id"], platform, its},
			[]any{event["success"], event["reference_id"], event["platform"], event["platform_order_id"]})
		if platform == "aggregator-a" {
			require.Regexp(t, `^\+1510556\d{4}$`, hubtest.Lookup(event, "data.customer_masked_number"))
			require.Regexp(t, `^\d{4}$`, hubtest.Lookup(event, "data.pin"))
			require.Equal(t, "the customer was informed", hubtest.Lookup(event, "data.message"))
		}
	}
	id, _ := s.placeOrder("aggregator-a", 9, selfDelivery)
	s.setFault(simulator.Fault{Kind: simulator.FaultRefuse, Call: simulator.CallItemsOOS})
	s.ok("POST", itemsOOSRoute, fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id))
	event := events(4)[3]
	require.Equal(t, []any{false, "", ""},
		[]any{event["success"], hubtest.Lookup(event, "data.customer_masked_number"), hubtest.Lookup(event,
			"data.pin")})
	require.Equal(t, "configured to reject", hubtest.Lookup(event, "data.message"))
}

func TestEveryAggregatorFaultIsRetriedUntilDelivered(t *testing.T) {
	s := newSimulatorClient(t, "aggregator-b")
	for n, fault := range []simulator.Fault{
		{Kind: simulator.FaultFail, Status: 500}, {Kind: simulator.FaultFail, Status: 429},
		{Kind: simulator.FaultReset}, {Kind: simulator.FaultHang},
		{Kind: simulator.FaultDelay, DelayMS: 20},
	} {
		t.Run(fmt.Sprint(fault.Kind, fault.Status), func(t *testing.T) {
			id, its := s.placeOrder("aggregator-b", n, selfDelivery)
			fault.Call, fault.Times = simulator.CallRiderStatus, 1
			s.setFault(fault)
			s.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, id,
				riderData))
			s.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"AT-STORE","rider_data":%s}`, id,
				riderData))
			require.Equal(t, []string{"rider_assigned Asha", "rider_at_store Asha"},
				s.awaitAggregatorCalls("aggregator-b", its, simulator.CallRiderStatus, 2))
		})
	}
	id, _ := s.placeOrder("aggregator-b", 100, selfDelivery)
	s.setFault(simulator.Fault{Kind: simulator.FaultRefuse, Call: simulator.CallRiderStatus})
	s.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, id, riderData))
	s.waitAdvancing(t, "the refusal on record", func() bool {
		step := hubtest.Lookup(s.ok("GET", fmt.Sprintf("%s%d/", ordersRoute, id), "").body, "rider.history").([]any)[0]
		return hubtest.Lookup(step, "relay.state") == "failed" &&
			strings.Contains(fmt.Sprint(hubtest.Lookup(step, "relay.message")), "422")
	})
}
