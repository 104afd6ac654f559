package compat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Flutter application for riders and managers sends JSON with the media type of a form. Its models cast each value to
// a type without null.
var flutterApp = map[string]string{"User-Agent": "Dart/3.5 (dart:io)", "Accept-Encoding": "gzip",
	"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}

// moving.md, What receivers read: alt_phone and user_id of the rider, in every status.
func TestFlutterAppMovesTheRider(t *testing.T) {
	c := newBistro(t, flutterApp)
	id := c.place(`{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","delivery_type":"self",` +
		`"items":[{"ref_id":"dal","quantity":1}]}`)
	move := func(status, rider string) value {
		t.Helper()
		c.ok("POST", riderStatusPath, fmt.Sprintf(`{"order_id":%d,"status":%q,"rider_data":%s}`, id, status, rider))
		return c.await("rider_status_update",
			func(v value) bool { return v.get("delivery_info.current_state").is == status })
	}
	const asha = `{"rider_name":"Asha","rider_phone_number":"+14155550177"}`
	assigned := move("ASSIGNED", asha)
	person := assigned.get("delivery_info.delivery_person_details")
	require.Equal(t, []any{"Asha", "+14155550177", "", nil}, person.all("name", "phone", "alt_phone", "user_id"))
	require.Equal(t, []any{"s1", "self", "web", "W-1"}, assigned.all("store.ref_id", "delivery_info.mode",
		"additional_info.external_channel.name", "additional_info.external_channel.order_id"))
	c.ok("POST", riderLocationPath, fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"37.77",`+
		`"longitude":"-122.41"}}`, id))
	c.refused("POST", riderStatusPath, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED",`+
		`"rider_data":{"rider_name":"Bo",`+
		`"rider_phone_number":"+14155550178"}}`, id), "UNASSIGNED")
	unassigned := move("UNASSIGNED", `{}`)
	require.Empty(t, unassigned.get("delivery_info.delivery_person_details.name").text())
	c.ok("POST", riderStatusPath, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED",`+
		`"rider_data":{"rider_name":"Bo"}}`, id))
	updates := move("DELIVERED", `null`).get("delivery_info.status_updates").list()
	require.Len(t, updates, 4)
	for _, update := range updates {
		require.Positive(t, update.get("created").number())
		require.Empty(t, update.get("comments").text())
	}
}

// moving.md, What clients send: a form type with a JSON object is read, and anything else is rejected.
func TestFlutterAppSendsJSONAsAForm(t *testing.T) {
	c := newClient(t, flutterApp)
	c.stores("s1")
	c.applied("s1", `{"items":[{"ref_id":"dal","title":"Dal","price":9.5}]}`)
	require.Equal(t, "Dal", c.stored("s1", "items")[0].get("title").text())
	for _, body := range []string{"stores=1&name=x", `[{"ref_id":"s1"}]`, `"stores"`} {
		r := c.send("POST", storesPath, body)
		require.Equal(t, 415, r.status, r.text)
		require.Contains(t, r.message(), "Content-Type: application/json")
	}
}
