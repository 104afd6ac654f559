package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
)

// alias adds an alias of a platform.
func (d *menuClient) alias(alias, platform string) {
	d.t.Helper()
	require.NoError(d.t, aliases.New(d.hub.db).AddAlias(d.t.Context(), d.tenant.ID,
		core.NewPlatformAlias{Alias: alias, Platform: platform},
		access.Change{Business: d.tenant.ID, Actor: "test", Action: "platform.alias"}))
}

// subscribeTo subscribes to events. The returned function waits for the n-th event of a type.
func (f *relayClient) subscribeTo(events ...string) func(event string, n int) map[string]any {
	f.t.Helper()
	sink := hubtest.NewEventSink(f.t, nil)
	for _, event := range events {
		f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, sink.URL))
	}
	return func(event string, n int) (body map[string]any) {
		f.t.Helper()
		f.waitAdvancing(f.t, event, func() bool {
			left := n
			for _, arrival := range sink.Arrivals() {
				if arrival.Header.Get("X-Event-Type") != event {
					continue
				}
				if left--; left == 0 {
					require.NoError(f.t, json.Unmarshal(arrival.Body, &body))
					return true
				}
			}
			return false
		})
		return body
	}
}

func TestOrdersAndEventsNamePlatformsByAlias(t *testing.T) {
	f := newRelayClient(t, nil)
	f.alias("zomato", "a")
	f.alias("also-a", "a")
	heard := f.subscribeTo("order_items_oos_processed")
	id := f.order("also-a", "A-1", `,"delivery_type":"self"`)
	placed := f.awaitOrderEvents(1)[0]
	require.Equal(t, []any{"zomato", "zomato"}, []any{hubtest.Lookup(placed, "order.details.channel"),
		hubtest.Lookup(placed, "order.details.ext_platforms").([]any)[0].(map[string]any)["name"]})
	for _, name := range []string{"a", "zomato", "also-a"} {
		require.Equal(t, id, f.order(name, "A-1", ""), "one platform, one order")
		require.Len(t, f.ok("GET", ordersRoute+"?platform="+name, "").body["orders"], 1)
	}
	require.Equal(t, "zomato", f.ok("GET", ordersRoute, "").body["orders"].([]any)[0].(map[string]any)["platform"])
	require.Equal(t, "zomato", hubtest.Lookup(f.ok("GET", oneOrder(id), "").body, "order.details.channel"))
	own := f.sendAsChannel("GET", fmt.Sprintf("%s%d/", channelOrdersRoute, id), "")
	require.Equal(t, "a", hubtest.Lookup(own.body, "order.details.channel"), "channels know the platform's own name")

	f.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	require.Equal(t, "zomato", hubtest.Lookup(f.awaitOrderEvents(2)[1], "additional_info.external_channel.name"))
	require.Equal(t, 200, f.postRiderStatus(id, "ASSIGNED", riderData).status)
	require.Equal(t, "zomato", hubtest.Lookup(f.awaitRiderEvent(1), "additional_info.external_channel.name"))
	f.ok("POST", itemsOOSRoute, fmt.Sprintf(`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id))
	require.Equal(t, "zomato", heard("order_items_oos_processed", 1)["platform"])

	asked := f.postAction("also-a", fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id))
	require.Equal(t, 200, asked.status, asked.text)
	require.Equal(t, "zomato", f.awaitAction(asked.body["reference"], "done").body["platform"])
	require.Equal(t, "zomato", f.awaitRiderEvent(2)["platform"])
	requireEnvelope(t, f.postAction("mars",
		fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask","wearing_mask":true}`, id)),
		404, `there is no platform "mars"`)

	key := "Bearer " + f.newCallbackKey("a")
	for _, name := range []string{"a", "zomato"} {
		require.Equal(t, 200, f.callBack(name, "ping", key, "{}").status)
	}
	require.Equal(t, 401, f.callBack("b", "ping", key, "{}").status)
}

func TestChannelKeyPlacesOrdersUnderAnAlias(t *testing.T) {
	s := newOrderClient(t, nil)
	s.alias("shop", "web")
	s.alias("phone", "app")
	s.channel = hubtest.ChannelKey(t, s.hub.db, s.tenant.ID, "web")
	under := func(name string) apiResponse {
		return s.sendAsChannel("POST", channelOrdersRoute, strings.Replace(orderOf("W-1", ""), `"web"`, `"`+name+`"`,
			1))
	}
	require.Equal(t, 200, under("shop").status)
	require.Contains(t, under("web").message(), "already exists")
	requireEnvelope(t, under("phone"), 403, `can only place orders of the platform "web"`)
	requireEnvelope(t, under("mars"), 403, `can only place orders of the platform "web"`)
}

func TestStoresAndMenusReadBackByAlias(t *testing.T) {
	d := newMenuClient(t, unlimited)
	d.alias("shop", "web")
	d.ok("POST", storesRoute, `{"stores":[{"ref_id":"s1","included_platforms":["shop","mars"]}]}`)
	reported := d.awaitCallback(2)["stores"].([]any)[0].(map[string]any)
	require.Equal(t, []any{false, []any{"shop", "mars"}}, []any{hubtest.Lookup(reported, "upipr_status.error"),
		reported["included_platforms"]}, "the callback has what was sent")
	require.Contains(t, fmt.Sprint(reported["warnings"]), `included_platforms names the platform "mars"`)
	require.Equal(t, []any{"shop", "mars"}, d.ok("GET", storesRoute+"s1/", "").body["included_platforms"])
	require.Equal(t, []any{"shop", "mars"},
		d.ok("GET", storesRoute, "").body["stores"].([]any)[0].(map[string]any)["included_platforms"])

	d.ok("POST", menuRoute+"s1/", `{"items":[{"ref_id":"dal","title":"Dal","price":9.5,"tags":{"shop":["hot"]},
		"included_platforms":["web"],"platform_pricing":[{"platform":"shop","price":8}]}]}`)
	require.Nil(t, d.awaitCallback(3)["items"].([]any)[0].(map[string]any)["warnings"])
	item := d.ok("GET", menuRoute+"s1/", "").body["items"].([]any)[0].(map[string]any)
	require.Equal(t, []any{map[string]any{"shop": []any{"hot"}}, []any{"shop"},
		[]any{map[string]any{"platform": "shop", "price": 8.0}}},
		[]any{item["tags"], item["included_platforms"], item["platform_pricing"]})
	for _, name := range []string{"shop", "web"} {
		shown := d.ok("GET", channelStoresRoute+"s1/menu/?platform="+name, "").body
		require.Equal(t, []any{name, 8.0},
			[]any{shown["platform"], shown["items"].([]any)[0].(map[string]any)["price"]})
		require.Len(t, d.ok("GET", channelStoresRoute+"?platform="+name, "").body["stores"], 1)
		then := d.ok("GET", menuRoute+"s1/items/dal/at/?platform="+name, "").body
		require.Equal(t, []any{name, true, []any{"shop"}}, []any{then["platform"], then["shown"],
			hubtest.Lookup(then, "record.included_platforms")})
	}
	require.Empty(t, d.ok("GET", channelStoresRoute+"?platform=app", "").body["stores"])
	requireEnvelope(t, d.send("GET", channelStoresRoute+"?platform=mars", ""), 404, "there is no platform")
}

func TestSwitchesNamePlatformsByAlias(t *testing.T) {
	f := newRelayClient(t, nil)
	f.alias("zomato", "a")
	heard := f.subscribeTo("store_action", "item_state_toggle", "option_state_toggle")
	accepted := f.ok("POST", locationRoute,
		`{"location_ref_id":"s1","platforms":["zomato","a","web"],"action":"disable"}`).body
	require.NotContains(t, accepted, "warnings")
	platforms := []any{heard("store_action", 1)["platform"], heard("store_action", 2)["platform"]}
	require.ElementsMatch(t, []any{"zomato", "web"}, platforms)
	closed := f.ok("GET", storesRoute+"s1/", "").body["closed_on"].([]any)
	require.Equal(t, "zomato", closed[0].(map[string]any)["platform"])
	standing := f.ok("GET", "/hub/api/v1/switches/"+accepted["reference"].(string)+"/", "").body
	require.Contains(t, fmt.Sprint(standing["outcomes"]), "zomato")
	requireEnvelope(t, f.send("POST", locationRoute,
		`{"location_ref_id":"s1","platforms":["a","mars"],"action":"enable"}`),
		404, `platforms[1] "mars": there is no such platform`)

	f.ok("POST", itemsRoute,
		`{"location_ref_id":"s1","item_ref_ids":["dal"],"option_ref_ids":["hot"],"action":"disable"}`)
	for _, event := range []string{"item_state_toggle", "option_state_toggle"} {
		var reported []any
		for n := range 5 {
			reported = append(reported, heard(event, n+1)["platform"])
		}
		require.ElementsMatch(t, []any{"zomato", "app", "b", "c", "web"}, reported)
	}
}

func TestSwitchOfAnUnlistedStoreReturnsAWarning(t *testing.T) {
	d := newMenuClient(t, unlimited)
	d.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","name":"N","city":"C"}]}`)
	d.awaitCallback(2)
	warned := func(route, body string) string {
		t.Helper()
		warnings := d.ok("POST", route, body).body["warnings"].([]any)
		require.Len(t, warnings, 1)
		return warnings[0].(map[string]any)["path"].(string) + ": " + warnings[0].(map[string]any)["message"].(string)
	}
	require.Equal(t, "location_ref_id: the store is listed on no platform, so nothing was switched; list it with "+
		"excluded_platforms or included_platforms, then send this again",
		warned(locationRoute, `{"location_ref_id":"s2","action":"disable"}`))
	require.Contains(t, warned(locationRoute, `{"location_ref_id":"s2","platforms":["web"],"action":"disable"}`),
		"location_ref_id: the store is listed on no platform; the change counts once it is listed there")
	require.Contains(t, warned(itemsRoute, `{"location_ref_id":"s2","item_ref_ids":["x"],"action":"disable"}`),
		"no platform is called")
	require.Contains(t, warned(locationRoute, `{"location_ref_id":"s2","action":"publish"}`), "nothing is published")
	d.ok("POST", storesRoute, `{"stores":[{"ref_id":"s2","included_platforms":["app"]}]}`)
	d.awaitCallback(3)
	require.Contains(t, warned(locationRoute, `{"location_ref_id":"s2","platforms":["app","web"],"action":"enable"}`),
		`platforms: the store is not listed on "web"`)
	require.NotContains(t, d.ok("POST", locationRoute, `{"location_ref_id":"s2","action":"enable"}`).body, "warnings")
}
