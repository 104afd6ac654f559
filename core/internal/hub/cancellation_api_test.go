package hub

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/plugins/simulator"
)

func TestAggregatorCancellationCancelsTheOrder(t *testing.T) {
	s := newSimulatorClient(t)
	events := 0
	cancel := func(platform, its string) simulator.Sent {
		t.Helper()
		sent, err := s.sim.Cancel(t.Context(), s.space, platform, its)
		require.NoError(t, err)
		return sent
	}
	for n, platform := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		id, its := s.placeOrder(platform, n, selfDelivery)
		s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
		sent := cancel(platform, its)
		require.Equal(t, []any{200, "the order was Acknowledged and is Cancelled", id},
			[]any{sent.Status, sent.Message, sent.HubOrder}, platform)
		sent = cancel(platform, its)
		require.Equal(t, []any{200, "the order is Cancelled already, nothing changed"},
			[]any{sent.Status, sent.Message})
		events += 3
		reported := s.awaitOrderEvents(events)[events-1]
		require.Equal(t, []any{float64(id), "Acknowledged", "Cancelled", "customer changed their mind", platform},
			[]any{
				reported["order_id"], reported["prev_state"], reported["new_state"], reported["message"],
				hubtest.Lookup(reported, "additional_info.external_channel.name")})
		order := s.ok("GET", oneOrder(id), "").body
		require.Equal(t, "platform:"+platform, hubtest.Lookup(order["history"].([]any)[2], "actor"))
		s.awaitAggregatorCalls(platform, its, simulator.CallDecision, 1)
	}

	// The cancellation arrives before its order.
	basket, err := s.orderableMenu().RandomBasket(selfDelivery, 1, 7)
	require.NoError(t, err)
	sent := cancel("aggregator-b", "B-"+basket.Number)
	require.Equal(t, []any{200, "the order is unknown so far, and is cancelled when it arrives", int64(0)},
		[]any{sent.Status, sent.Message, sent.HubOrder})
	id, _ := s.placeOrder("aggregator-b", 7, selfDelivery)
	all := s.awaitOrderEvents(events + 2)
	require.Equal(t, []any{float64(id), float64(id), "Placed", "Cancelled"}, []any{
		hubtest.Lookup(all[events], "order.details.id"), all[events+1]["order_id"], all[events+1]["prev_state"],
		all[events+1]["new_state"]}, "the POS gets both, in their order")

	// The order has already ended.
	id, its := s.placeOrder("aggregator-c", 8, selfDelivery)
	s.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Completed"}`)
	sent = cancel("aggregator-c", its)
	require.Equal(t, 409, sent.Status)
	require.Contains(t, sent.Message, "the order is Completed and cannot become Cancelled")

	refused, err := s.sim.Message(t.Context(), s.space, "aggregator-b", "cancellation", []byte(`{"reason":"?"}`))
	require.NoError(t, err)
	require.Equal(t, []any{400, "plugin aggregator-b: cancellation: orderId is required"},
		[]any{refused.Status, refused.Message})
	reported := s.awaitOrderEvents(events + 4)
	require.Len(t, s.orders.Arrivals(), len(reported), "nothing was sent twice")
}
