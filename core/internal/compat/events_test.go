package compat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const bistroMenu = `{"categories": [{"ref_id": "mains", "name": "Mains"}],
	"items": [{"ref_id": "dal", "title": "Dal", "price": 9.5, "food_type": "1", "category_ref_ids": ["mains"],
		"tags": {"default": ["vegan"]}}, {"ref_id": "rice", "title": "Rice", "price": 3}],
	"option_groups": [{"ref_id": "heat", "title": "Heat", "item_ref_ids": ["dal"]}],
	"options": [{"ref_id": "hot", "title": "Hot", "price": 0.5, "opt_grp_ref_ids": ["heat"]}],
	"taxes": [{"code": "ST_P", "title": "Sales Tax", "structure": {"value": 10}, "item_ref_ids": ["dal"]}],
	"charges": [{"code": "PC_F", "title": "Packaging Charge", "structure": {"value": 1,
		"applicable_on": "item.quantity"}, "item_ref_ids": ["rice"]}, {"code": "DC_F", "title": "Delivery Charge",
		"structure": {"value": 2}}]}`

// newBistro returns a client with the store s1, its menu and the order events.
func newBistro(t *testing.T, library map[string]string) *client {
	t.Helper()
	c := newClient(t, library)
	c.stores("s1")
	c.applied("s1", bistroMenu)
	c.subscribe("order_placed", "order_status_update", "rider_status_update")
	return c
}

// asJSON are the headers of a library that sends only a media type.
var asJSON = map[string]string{"Content-Type": "application/json"}

// TestEveryEventHasEveryKey places orders from nearly empty to full, moves them and their riders, and cancels. The
// receiver checks the keys of each event (moving.md, What receivers read: every key is always present).
func TestEveryEventHasEveryKey(t *testing.T) {
	c := newBistro(t, asJSON)
	const dal = `"items": [{"ref_id": "dal", "quantity": 1}]`
	for says, fields := range map[string]string{
		"nothing but items": dal,
		"a pickup":          `"order_type": "pickup", "customer": {"name": "Ana"}, ` + dal,
		"nulls":             `"customer": {"address": null}, "coupon": null, "taxes": null, "payment": null, ` + dal,
		"empty lists":       `"charges": [], "taxes": [], "discounts": [], "payment": [], ` + dal,
		"what nobody sells": `"items": [{"ref_id": "moon", "quantity": 1, "price": 1, "options": [{"ref_id": "x",` +
			` "price": 1}]}]`,
		"bare amounts": `"taxes": [{"title": "Tax", "value": 1}], "charges": [{"title": "Fee", "value": 1}],` +
			` "discounts": [{"value": 1}], ` + dal,
		"options and riders": `"delivery_type": "self", "items": [{"ref_id": "dal", "quantity": 2,` +
			` "options": [{"ref_id": "hot"}]}]`,
		"everything": `"is_bulk_order": true, "delivery_datetime": 1999999999000, "instructions": "Ring",
			"coupon": "TEN",
			"customer": {"name": "Ana", "email": "ana@example.com", "phone": "555", "address": {"line_1": "1 Pier",
				"latitude": 37.8, "longitude": -122.27}},
			"discounts": [{"title": "Ten", "code": "TEN", "value": 1, "is_merchant_discount": true}],
			"payment": [{"option": "cash", "amount": 12.45}],
			"items": [{"ref_id": "dal", "quantity": 1}, {"ref_id": "rice", "quantity": 1}]`,
	} {
		t.Run(says, func(t *testing.T) {
			id := c.place(fmt.Sprintf(`{"platform": "web", "platform_order_id": %q, "store_ref_id": "s1", %s}`,
				strings.ReplaceAll(says, " ", "-"), fields))
			c.placed(id)
			for n, body := range []string{`{"new_status": "Acknowledged", "extra": {"prep_time_mins": 20}}`,
				`{"new_status": "Food Ready"}`, `{"new_status": "Cancelled", "message": "sold out"}`} {
				c.ok("PUT", order(id, "status/"), body)
				c.await("order_status_update", func(v value) bool {
					return int64(v.get("order_id").number()) == id &&
						v.get("new_state").is == []string{"Acknowledged", "Food Ready", "Cancelled"}[n]
				})
			}
		})
	}
	id := c.place(`{"platform": "app", "platform_order_id": "R", "store_ref_id": "s1", "delivery_type": "self",` +
		` ` + dal + `}`)
	for n, status := range []string{"NO-RIDER-FOUND", "ASSIGNED", "UNASSIGNED", "ASSIGNED", "AT-STORE",
		"OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED"} {
		rider := ""
		if status == "ASSIGNED" {
			rider = fmt.Sprintf(`, "rider_data": {"rider_name": "Rider %d"}`, n)
		}
		c.ok("POST", riderStatusPath, fmt.Sprintf(`{"order_id": %d, "status": %q%s}`, id, status, rider))
		event := c.await("rider_status_update", func(v value) bool {
			return len(v.get("delivery_info.status_updates").list()) == n+1
		})
		require.Equal(t, status, event.get("delivery_info.current_state").text())
	}
}
