package hub

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/plugins/simulator"
)

// TestMenuOrderAndRiderFlowEndToEnd publishes a menu to aggregators A, B and C and places an order at B. It moves the
// rider of the order, and A reports a customer's contact.
func TestMenuOrderAndRiderFlowEndToEnd(t *testing.T) {
	s := newSimulatorClient(t)
	published := hubtest.NewEventSink(t, nil)
	s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"hub_menu_publish","url":%q}`, published.URL))
	s.ok("POST", menuRoute+"s1/",
		`{"items":[{"ref_id":"soup","title":"Soup","price":4.25},{"ref_id":"pie","title":"Pie","price":7,`+
			`"key_value_groups":[`+lacking+`]}]}`)
	s.awaitCallback(3)
	platforms := []string{"aggregator-a", "aggregator-b", "aggregator-c"}
	s.awaitOnSale(platforms, map[string]int{"aggregator-a": 2, "aggregator-b": 3, "aggregator-c": 2})
	s.waitAdvancing(t, "an event of each platform", func() bool {
		var reported []string
		for _, arrival := range published.Arrivals() {
			for _, platform := range platforms {
				if strings.Contains(string(arrival.Body), platform) {
					reported = append(reported, platform)
				}
			}
		}
		slices.Sort(reported)
		return slices.Equal(slices.Compact(reported), platforms)
	})

	basket, err := s.sim.RandomBasket(t.Context(), s.space, "aggregator-b",
		simulator.BasketRequest{Store: "s1", Spec: selfDelivery, Seed: 3})
	require.NoError(t, err)
	sent, err := s.sim.Place(t.Context(), s.space, "aggregator-b", basket)
	require.NoError(t, err)
	require.Equal(t, 200, sent.Status, sent.Message)
	placed := s.awaitOrderEvents(1)[0]
	require.Equal(t, []any{float64(sent.HubOrder), "aggregator-b", nil}, []any{
		hubtest.Lookup(placed, "order.details.id"), hubtest.Lookup(placed, "order.details.channel"),
		hubtest.Lookup(placed, "order.details.flags")},
		"the order is as the menu has it")
	require.Equal(t, []string{"CONFIRMED"}, s.awaitAggregatorCalls("aggregator-b", sent.ID, simulator.CallDecision, 1))

	for _, status := range []string{"ASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED"} {
		if status == "RIDER-REACHED" {
			s.ok("POST", riderLocationRoute,
				fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"37.8","longitude":"-122.27"}}`, sent.HubOrder))
			s.waitAdvancing(t, "the place", func() bool {
				return s.aggregatorOrder("aggregator-b", sent.ID).LocationUpdates == 1
			})
		}
		s.ok("POST", riderStatusRoute,
			fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":%s}`, sent.HubOrder, status, riderData))
	}
	require.Equal(t, "delivered Asha", s.awaitAggregatorCalls("aggregator-b", sent.ID, simulator.CallRiderStatus, 5)[4])

	id, _ := s.placeOrder("aggregator-a", 9, selfDelivery)
	riders := len(s.events.Arrivals())
	s.ok("POST", fmt.Sprintf(actionRoute, "aggregator-a"),
		fmt.Sprintf(`{"order_id":"%d","action":"fetch_customer_data"}`, id))
	s.waitAdvancing(t, "the contact", func() bool {
		return slices.ContainsFunc(s.events.Arrivals()[riders:], func(arrival hubtest.Arrival) bool {
			return strings.Contains(string(arrival.Body), `"customer_phone":"+1510556`)
		})
	})
}

// awaitOnSale waits until each aggregator has a number of items of the store.
func (s *simulatorClient) awaitOnSale(platforms []string, dishes map[string]int) {
	s.t.Helper()
	hubtest.WaitUntil(s.t, "the menus at the aggregators", func() bool {
		s.clock.advanceToWork(100 * time.Millisecond) // changes are collected for seconds
		return !slices.ContainsFunc(platforms, func(platform string) bool {
			stores, err := s.sim.Stores(s.t.Context(), s.space, platform)
			require.NoError(s.t, err)
			return len(stores) != 1 || stores[0].Items != dishes[platform]
		})
	})
}
