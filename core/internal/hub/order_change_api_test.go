package hub

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

func TestChangesApplyToTheNextOrder(t *testing.T) {
	s := newOrderClient(t, nil)
	placed := 0
	place := func() apiResponse {
		placed++
		return s.sendAsChannel("POST", channelOrdersRoute, orderOf(fmt.Sprintf("W-%d", placed), ""))
	}
	lastDetail := func(field string) any {
		require.Equal(t, http.StatusOK, place().status)
		events := s.awaitOrderEvents(placed)
		return hubtest.Lookup(events[placed-1], field)
	}
	require.Equal(t, 20.0, lastDetail("order.details.order_subtotal"))
	require.Equal(t, 20.0, lastDetail("order.details.order_subtotal"), "of the cached menu")

	s.ok("POST", menuRoute+"s1/", `{"items":[{"ref_id":"dal","price":9.5,
		"platform_pricing":[{"platform":"app","price":10}]}],"options":[{"ref_id":"hot","price":2.5}]}`)
	s.awaitCallback(3)
	require.Equal(t, 24.0, lastDetail("order.details.order_subtotal"))

	s.ok("POST", "/external/api/v1/stores/", `{"stores":[{"ref_id":"s1","name":"Other Street"}]}`)
	s.awaitCallback(4)
	require.Equal(t, "Other Street", lastDetail("order.store.name"))

	more := hubtest.NewEventSink(t, nil)
	s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, more.URL))
	lastDetail("order.details.id")
	s.waitAdvancing(t, "the event at the new webhook", func() bool { return len(more.Arrivals()) >= 1 })

	var key int64
	require.NoError(t, s.hub.db.Bun().QueryRow(`SELECT id FROM api_keys WHERE business_id = ? AND scope = 'channel'`,
		s.tenant.ID).Scan(&key))
	require.NoError(t, accessdb.New(s.hub.db).DisableKey(t.Context(), s.tenant.ID, key))
	requireEnvelope(t, place(), http.StatusForbidden, "this API key is disabled")
	var orders int
	require.NoError(t, s.hub.db.Bun().QueryRow(`SELECT count(*) FROM orders`).Scan(&orders))
	require.Equal(t, placed-1, orders)
}
