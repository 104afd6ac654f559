package compat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/access"
	storesdb "github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/store"
)

// A Python point of sale reads events by subscripts, such as event["order"]["details"]["prep_time"], so a missing key
// raises a KeyError.
var pythonPOS = map[string]string{"User-Agent": "python-requests/2.32", "Accept": "*/*",
	"Content-Type": "application/json"}

// moving.md, What receivers read: the keys beyond the first version, with known values.
func TestPythonPOSReadsEveryDetail(t *testing.T) {
	c := newBistro(t, pythonPOS)
	c.push(storesPath, `{"stores": [{"ref_id": "s1", "address": "1 Pier", "geo_latitude": 37.8,`+
		` "geo_longitude": -122.27}]}`)
	id := c.place(`{"platform": "web", "platform_order_id": "W-1", "store_ref_id": "s1", "delivery_type": "self",
		"discounts": [{"title": "Ten", "code": "TEN", "value": 1.0, "is_merchant_discount": true},
		{"title": "Channel", "value": 0.5}],
		"items": [{"ref_id": "dal", "quantity": 2, "options": [{"ref_id": "hot", "quantity": 2}]},
			{"ref_id": "rice", "quantity": 1}, {"ref_id": "napkin", "quantity": 1, "price": 0.0, "title": "Napkin"}]}`)
	event := c.placed(id)
	details := event.get("order.details")
	for path, want := range map[string]any{
		"biz_name": "Test Kitchen", "state": "Placed", "order_state": "Placed", "prep_time": nil, "coupon": "",
		"order_subtotal": 24.0, "discount": 1.5, "item_level_total_charges": 1.0, "item_level_total_taxes": 2.1,
		"order_level_total_charges": 2.0, "order_level_total_taxes": 0.0, "total_charges": 3.0, "total_taxes": 2.1,
		"order_total": 27.6, "ext_platforms.0.discounts.0.is_merchant_discount": true,
		"ext_platforms.0.discounts.1.is_merchant_discount": nil, "ext_platforms.0.discounts.1.code": "",
	} {
		require.Equal(t, want, details.get(path).is, path)
	}
	for path, want := range map[string]any{
		"items.0.options_to_add.0.total_price": 1.0, "items.0.options_to_add.0.group.title": "Heat",
		"items.0.tags": []any{"vegan"}, "items.1.tags": []any{}, "items.2.id": 0.0, "items.2.food_type": "",
		"items.0.total_with_tax": 23.1, "items.1.charges.0.value": 1.0, "items.0.taxes.0.liability_on": "",
		"store.merchant_ref_id": "s1", "store.address": "1 Pier", "store.latitude": 37.8, "store.longitude": -122.27,
		"next_state": "Acknowledged",
	} {
		require.Equal(t, want, event.get("order."+path).is, path)
	}
	require.Positive(t, event.get("order.items.0.options_to_add.0.group.id").number())

	taxed := c.place(`{"platform": "web", "platform_order_id": "W-2", "store_ref_id": "s1",
		"taxes": [{"title": "Tax", "rate": 5.0, "value": 0.48, "liability_on": "platform"}],
		"items": [{"ref_id": "dal", "quantity": 1}]}`)
	require.Equal(t, "platform", c.placed(taxed).get("order.details.taxes.0.liability_on").text())
}

// moving.md, What receivers read: prep_time is null until the point of sale reports it. Every status has the state
// before and after it.
func TestPythonPOSFollowsAnOrder(t *testing.T) {
	c := newBistro(t, pythonPOS)
	id := c.place(`{"platform": "app", "platform_order_id": "A-9", "store_ref_id": "s1",` +
		` "items": [{"ref_id": "dal", "quantity": 1}]}`)
	c.ok("PUT", order(id, ""), `{"reference_id": "POS-12"}`)
	states := []string{"Placed", "Acknowledged", "Food Ready", "Dispatched", "Completed"}
	for n, state := range states[1:] {
		body := fmt.Sprintf(`{"new_status": %q, "message": null, "extra": {"prep_time_mins": null}}`, state)
		var minutes any // of this change
		if n == 0 {
			minutes = 15.0
			body = `{"new_status": "Acknowledged", "extra": {"prep_time_mins": 15}}`
		}
		c.ok("PUT", order(id, "status/"), body)
		moved := c.await("order_status_update", func(v value) bool { return v.get("new_state").is == state })
		require.Equal(t, []any{float64(id), states[n], "s1", ""},
			moved.all("order_id", "prev_state", "store_id", "message"))
		require.Equal(t, []any{"app", "A-9", "", minutes}, moved.get("additional_info").all("external_channel.name",
			"external_channel.order_id", "reason_code", "prep_time_mins"))
	}
	read := c.ok("GET", order(id, ""), "")
	require.Equal(t, []any{"Completed", 15.0}, read.all("order.details.state", "order.details.prep_time"))
	r := c.send("PUT", order(id, "status/"), `{"new_status": "Cancelled"}`)
	require.Equal(t, 409, r.status)
}

// moving.md, Stores without platform lists: a business lists them on all platforms or on none. Toggling an unlisted
// store succeeds with a warning.
func TestPythonPOSSendsStoresWithoutPlatformLists(t *testing.T) {
	c := newClient(t, pythonPOS)
	c.subscribe("store_creation")
	send := func(ref string) {
		require.Empty(t, failures(c.push(storesPath, fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"S","city":"C"}]}`,
			ref))))
	}
	disable := func(ref string) reply {
		return c.ok("POST", "/hub/api/v1/location/",
			fmt.Sprintf(`{"location_ref_id":%q,"platforms":["web"],"action":"disable"}`, ref))
	}
	send("nowhere")
	require.Contains(t, disable("nowhere").get("warnings.0.message").text(), "no platform")
	require.NoError(t, storesdb.New(c.db).SetDefaultListing(t.Context(), c.business, store.ListNone, store.ListAll,
		access.Change{Business: c.business, Actor: "test", Action: "business.list_stores"}))
	send("everywhere")
	require.False(t, disable("everywhere").has("warnings"))
	require.Contains(t, disable("nowhere").get("warnings.0.message").text(), "no platform", "known stores stay")
}
