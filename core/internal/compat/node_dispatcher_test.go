package compat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// A Node dispatcher assigns riders to the orders of aggregators. It compares totals to the cent, and rejects an order
// whose taxes it cannot read.
var nodeDispatcher = map[string]string{"Accept": "application/json", "Content-Type": "application/json",
	"Connection": "close"}

// moving.md, What receivers read: taxes of an aggregator have all their keys, and totals contain what no item has.
func TestNodeDispatcherReadsAnAggregatorOrder(t *testing.T) {
	c := newBistro(t, nodeDispatcher)
	require.NoError(t, sandbox.Setup(t.Context(), c.db, c.business, []string{"aggregator-c"}, c.aggregator))
	c.push(storesPath, `{"stores":[{"ref_id":"s1","excluded_platforms":[]}]}`)
	space := fmt.Sprint(c.business)
	var basket simulator.Basket
	c.waitUntil("the menu at the aggregator", func() (there bool) {
		var err error
		basket, err = c.simulator.RandomBasket(t.Context(), space, "aggregator-c", simulator.BasketRequest{
			Store: "s1", Spec: simulator.OrderSpec{Mode: simulator.Delivery, DeliveredBy: simulator.BySelf}, Seed: 1})
		return err == nil
	})
	sent, err := c.simulator.Place(t.Context(), space, "aggregator-c", basket)
	require.NoError(t, err)
	require.Equal(t, 200, sent.Status, sent.Message)
	event := c.placed(sent.HubOrder)
	details := event.get("order.details")
	tax := details.get("taxes.0")
	require.Equal(t, []any{"Tax", nil, ""}, tax.all("title", "rate", "liability_on"))
	require.Positive(t, tax.get("value").number())
	cents := func(path string) int { return int(details.get(path).number()*100 + 0.5) }
	require.Equal(t, cents("total_taxes"), cents("item_level_total_taxes")+cents("order_level_total_taxes"))
	require.Equal(t, cents("total_charges"), cents("item_level_total_charges")+cents("order_level_total_charges"))
	require.Equal(t, cents("order_total"),
		cents("order_subtotal")-cents("discount")+cents("total_charges")+cents("total_taxes"))
	require.Equal(t, []any{"aggregator", "aggregator-c", "self", sent.ID}, details.get("ext_platforms.0").all("kind",
		"name", "delivery_type", "id"))

	c.ok("POST", riderStatusPath, encode(t, map[string]any{"order_id": sent.HubOrder, "status": "ASSIGNED",
		"rider_data": map[string]string{"rider_name": "Jo", "rider_phone_number": "4155550100"}}))
	rider := c.await("rider_status_update",
		func(v value) bool { return v.get("order_id").is == float64(sent.HubOrder) })
	require.Equal(t, []any{"aggregator-c", sent.ID},
		rider.get("additional_info.external_channel").all("name", "order_id"))
	c.ok("PUT", order(sent.HubOrder, "status/"), `{"new_status":"Dispatched"}`)
	moved := c.await("order_status_update", func(v value) bool { return v.get("new_state").is == "Dispatched" })
	require.Equal(t, sent.ID, moved.get("additional_info.external_channel.order_id").text())
}
