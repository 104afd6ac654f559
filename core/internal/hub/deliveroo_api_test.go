package hub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// deliverooHub is a business whose store s1 is the site 88 of the example plugin.
type deliverooHub struct {
	*publishClient
	market *deliverooStandIn
}

func newDeliverooHub(t *testing.T) *deliverooHub {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "deliveroo", "../../../plugins/examples/deliveroo")
	d := &deliverooHub{publishClient: &publishClient{menuClient: newMenuClientAt(t, newPluginAPI(t, dir, unlimited)),
		seenCallbacks: 1}}
	d.market = newDeliverooStandIn(t, d.clock)
	d.callbacks = hubtest.NewEventSink(t, nil)
	d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"hub_menu_publish","url":%q}`, d.callbacks.URL))
	require.NoError(t, platforms.New(d.hub.db).Set(t.Context(), d.tenant.ID,
		core.Platform{Name: "roo", ServedBy: "deliveroo"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": d.market.URL, "auth": d.market.URL}
			a.Secrets = map[string]string{"client_id": deliverooClient, "client_secret": deliverooSecret,
				"webhook_secret": deliverooWebhook}
			a.Settings, a.Accept = []byte(`{"brand_id":"tasty","opening_hours":true}`), relay.AcceptPOS
			return nil
		}))
	d.seenCallbacks++
	d.ok("POST", storesRoute,
		`{"stores":[{"ref_id":"s1","platform_data":[{"name":"roo","platform_store_id":"88"}]}]}`)
	d.awaitCallback(d.seenCallbacks)
	return d
}

// webhook sends a signed webhook.
func (d *deliverooHub) webhook(body string) apiResponse {
	d.t.Helper()
	m := marketClient{orderClient: &orderClient{menuClient: d.menuClient}}
	return m.post(fmt.Sprintf("/channel/api/v1/roo/callback/events/?business=%d", d.tenant.ID), "application/json",
		body, d.market.sign(body))
}

// awaitRequest waits for the n-th accepted request with a prefix.
func (d *deliverooHub) awaitRequest(prefix string, n int) string {
	d.t.Helper()
	var got []string
	d.advanceUntil(prefix, func() bool { got = d.market.got(prefix); return len(got) >= n })
	return got[n-1]
}

func TestDeliverooExampleServesAStore(t *testing.T) {
	d := newDeliverooHub(t)
	d.sendMenu("s1", `{"categories":[{"ref_id":"mains","name":"Mains"}],
		"items":[{"ref_id":"soup","title":"Soup","price":5,"category_ref_ids":["mains"]}]}`)
	menu := d.awaitRequest("PUT /menu/v1/brands/tasty/menus/servery-88", 1)
	require.Contains(t, menu, `"site_ids":["88"]`)
	require.Contains(t, menu, `"price_info":{"price":500}`)
	d.awaitRequest("POST /site/v1/brands/tasty/sites/88/opening_hours", 1)
	d.advanceUntil("the menu's outcome is pending", func() bool {
		list := d.ok("GET", publicationsRoute+"?platform=roo", "").body["publications"].([]any)
		return len(list) == 1 && list[0].(map[string]any)["pending_outcome"] != nil
	})
	reported := d.webhook(`{"event":"menu.upload_result","body":{"menu_upload_result":{"http_status":200,` +
		`"brand_id":"tasty","menu_id":"servery-88","site_ids":["88"],"errors":[]}}}`)
	require.Equal(t, 200, reported.status, reported.text)
	d.settle()

	placed := d.webhook(d.market.newOrder("gb:1", "88"))
	require.Equal(t, 200, placed.status, placed.text)
	order := d.ok("GET", ordersRoute, "").body["orders"].([]any)[0].(map[string]any)
	id := int64(hubtest.Lookup(order, "order_id").(float64))
	forged := strings.Replace(d.market.newOrder("gb:2", "88"), "No pickles", "Pickles", 1)
	m := marketClient{orderClient: &orderClient{menuClient: d.menuClient}}
	require.Equal(t, 401, m.post(fmt.Sprintf("/channel/api/v1/roo/callback/events/?business=%d", d.tenant.ID),
		"application/json", forged, d.market.sign(d.market.newOrder("gb:2", "88"))).status)

	d.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	require.Contains(t, d.awaitRequest("PATCH /order/v1/orders/gb:1", 1), `{"status":"accepted"}`)
	d.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Food Ready"}`)
	require.Contains(t, d.awaitRequest("POST /order/v1/orders/gb:1/prep_stage", 1), `"stage":"ready_for_collection"`)
	canceled := d.webhook(`{"event":"order.status_update","body":{"order":{"id":"gb:1","status":"canceled"}}}`)
	require.Equal(t, 200, canceled.status, canceled.text)
	require.Contains(t, canceled.text, "is Cancelled")
}

func TestDeliverooExampleRejectsAndSwitches(t *testing.T) {
	d := newDeliverooHub(t)
	d.sendMenu("s1", soup)
	d.awaitRequest("PUT /menu/v1/brands/tasty/menus/servery-88", 1)
	require.Equal(t, 200, d.webhook(d.market.newOrder("gb:3", "88")).status)
	order := d.ok("GET", ordersRoute, "").body["orders"].([]any)[0].(map[string]any)
	id := int64(hubtest.Lookup(order, "order_id").(float64))
	d.ok("PUT", oneOrder(id)+"status/",
		`{"new_status":"Cancelled","message":"no bowls","reason_code":"item_out_of_stock"}`)
	require.Contains(t, d.awaitRequest("PATCH /order/v1/orders/gb:3", 1),
		`{"status":"rejected","reject_reason":"ingredient_unavailable","notes":"no bowls"}`)

	d.ok("POST", itemsRoute, `{"location_ref_id":"s1","platforms":["roo"],"item_ref_ids":["soup"],"action":"disable"}`)
	require.Contains(t, d.awaitRequest("POST /menu/v2/brands/tasty/sites/88/menu/item_unavailabilities", 1),
		`{"item_id":"soup","status":"unavailable"}`)
	d.ok("POST", locationRoute, `{"location_ref_id":"s1","platforms":["roo"],"action":"disable"}`)
	require.Contains(t, d.awaitRequest("PUT /site/v1/brands/tasty/sites/88/status", 1), `{"status":"CLOSED"}`)
	unknown := d.webhook(d.market.newOrder("gb:4", "99"))
	require.Equal(t, 404, unknown.status, unknown.text)
}
