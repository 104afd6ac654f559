package compat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A PHP shop has one type for lists and objects, so an empty object becomes []. Slashes are escaped, and numbers from
// forms or databases are text.
var phpShop = map[string]string{"Accept": "application/json", "Content-Type": "application/json; charset=utf8"}

// moving.md, What clients send: [] for an empty object.
func TestPHPShopSendsEmptyArraysForObjects(t *testing.T) {
	c := newClient(t, phpShop)
	created := c.ok("POST", webhooksPath, fmt.Sprintf(`{"event_type":"order_placed","url":%q,"headers":[],`+
		`"active":true}`,
		c.receiver.url))
	id := fmt.Sprint(created.get("webhook_id").number())
	require.Equal(t, map[string]any{}, c.ok("GET", webhooksPath+id+"/", "").get("headers").is)
	c.stores("1")
	callback := c.applied("1", `{"categories":[],"items":[{"ref_id":"7","title":"Caf\u00e9 \/ Tee","price":2.5,`+
		`"img_url":"https:\/\/img.example.com\/7.png","tags":[],"translations":[],"images":[],"platform_pricing":[],`+
		`"key_value_groups":[],"category_ref_ids":[],"fulfillment_modes":["delivery","pickup"]}],"option_groups":[],`+
		`"options":[],"taxes":[],"charges":[]}`)
	require.Equal(t, []string{"tags: tags is an array, which counts as an empty object"},
		warnings(callback.get("items.0")))
	require.Equal(t, "https://img.example.com/7.png", c.stored("1", "items")[0].get("img_url").text())

	order := c.place(`{"platform":"web","platform_order_id":5001,"store_ref_id":"1","customer":{"name":"Ana",` +
		`"address":[]},` +
		`"items":[{"ref_id":"7","quantity":"2","options":[]}],"charges":[],"taxes":[],"discounts":[],"payment":[]}`)
	placed := c.placed(order)
	require.Equal(t, []any{"5001", "Ana", "", 2.0}, placed.all("order.details.ext_platforms.0.id", "customer.name",
		"customer.address.line_1", "order.items.0.quantity"))
	c.ok("PUT", fmt.Sprintf("%s%d/status/", ordersPath, order), `{"new_status":"Acknowledged","message":"","extra":[]}`)
}

// moving.md, What clients send: integers as text in calls for orders and riders. Menus reject numbers as text, and the
// message names the field.
func TestPHPShopSendsNumbersAsText(t *testing.T) {
	c := newBistro(t, phpShop)
	id := c.place(`{"platform":"web","platform_order_id":"W-7","store_ref_id":"s1","delivery_type":"self",` +
		`"delivery_datetime":"1999999999000","items":[{"ref_id":"dal","quantity":"1.0","options":[{"ref_id":"hot",` +
		`"quantity":"1"}]}]}`)
	require.Equal(t, 1999999999000.0, c.placed(id).get("order.details.delivery_datetime").number())
	c.ok("PUT", order(id, "status/"), `{"new_status":"Acknowledged","extra":{"prep_time_mins":"25"}}`)
	moved := c.await("order_status_update", func(v value) bool { return v.get("new_state").is == "Acknowledged" })
	require.Equal(t, 25.0, moved.get("additional_info.prep_time_mins").number())
	c.ok("POST", riderStatusPath, fmt.Sprintf(`{"order_id":"%d","status":"ASSIGNED","rider_data":[]}`, id))
	c.ok("POST", riderStatusPath,
		fmt.Sprintf(`{"order_id":"%d","status":"AT-STORE","rider_data":{"rider_name":"Jo",`+
			`"rider_phone_number":4155550177}}`, id))
	rider := c.await("rider_status_update",
		func(v value) bool { return v.get("delivery_info.current_state").is == "AT-STORE" })
	require.Equal(t, "4155550177", rider.get("delivery_info.delivery_person_details.phone").text())
	c.ok("POST", riderLocationPath, fmt.Sprintf(`{"order_id":"%d","location":{"latitude":"37.8",`+
		`"longitude":"-122.27"}}`, id))

	now := c.db.Clock().Now().UnixMilli()
	c.ok("POST", webhooksPath+"retry/", fmt.Sprintf(`{"event_type":"18","start_time":"%d",`+
		`"end_time":"%d"}`, now-1000, now))
	c.refused("POST", menuPath+"s1/", `{"items":[{"ref_id":"dal",`+
		`"price":"9.50"}]}`, `items[0] (ref_id "dal"): price must be`)
}
