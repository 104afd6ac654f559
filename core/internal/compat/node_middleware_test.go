package compat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Node middleware merges the catalogues of several systems, so its lists contain removed objects. Its server converts
// header names to lower case, and it dispatches on them.
var nodeMiddleware = map[string]string{"Accept": "application/json, text/plain, */*",
	"Content-Type": "application/json"}

// moving.md, What clients send: unknown references are ignored with a warning.
func TestNodeMiddlewareNamesWhatIsGone(t *testing.T) {
	c := newClient(t, nodeMiddleware)
	c.stores("s-1")
	callback := c.applied("s-1", `{"categories":[{"ref_id":"mains","name":"Mains"}],
		"items":[{"ref_id":"dal","title":"Dal","price":9.5,"category_ref_ids":["gone","mains"],
		"included_platforms":["web","moon"]}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["gone","dal"]}],
		"options":[{"ref_id":"hot","title":"Hot","price":0.5,"opt_grp_ref_ids":["gone","heat"],
		"nested_opt_grps":["gone"]}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8},"item_ref_ids":["gone","dal","gone-too"]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1,"applicable_on":"item.quantity"},
			"item_ref_ids":["gone","dal"],"excluded_platforms":["moon"]}]}`)
	for path, fields := range map[string][]string{
		"items.0": {"category_ref_ids", "included_platforms"}, "option_groups.0": {"item_ref_ids"},
		"options.0": {"opt_grp_ref_ids", "nested_opt_grps"}, "taxes.0": {"item_ref_ids"},
		"charges.0": {"item_ref_ids", "excluded_platforms"},
	} {
		list := warnings(callback.get(path))
		require.Len(t, list, len(fields), path)
		for i, field := range fields {
			require.Contains(t, list[i], field+": ")
			require.Regexp(t, `"(gone|moon)"`, list[i])
		}
	}
	require.Equal(t, []string{"mains"}, texts(c.stored("s-1", "items")[0].get("category_ref_ids").list()))
	require.Equal(t, []string{"dal"}, texts(c.stored("-1", "option_groups")[0].get("item_ref_ids").list()))
	require.Equal(t, []string{"heat"}, texts(c.stored("s-1", "options")[0].get("opt_grp_ref_ids").list()))
	require.Equal(t, []string{"dal"}, texts(c.stored("-1", "taxes")[0].get("item_ref_ids").list()))
	require.Equal(t, []string{"dal"}, texts(c.stored("-1", "charges")[0].get("item_ref_ids").list()))
}

// moving.md, What receivers read: the event in a header, by its name or its number.
func TestNodeMiddlewareDispatchesOnHeaders(t *testing.T) {
	c := newBistro(t, nodeMiddleware)
	id := c.place(`{"platform":"web","platform_order_id":"N-1","store_ref_id":"s1","delivery_type":"self",` +
		`"items":[{"ref_id":"dal","quantity":1}]}`)
	c.placed(id)
	c.ok("PUT", order(id, "status/"), `{"new_status":"Acknowledged"}`)
	c.ok("POST", riderStatusPath, encode(t, map[string]any{"order_id": id, "status": "ASSIGNED",
		"rider_data": map[string]any{"rider_name": "Jo"}}))
	handled := map[string]string{}
	for event, number := range map[string]string{"order_placed": "18", "order_status_update": "60008",
		"rider_status_update": "60012", "inventory_update": "60013", "store_creation": "60014"} {
		got := c.awaitDelivery(event, func(value) bool { return true })
		lower := map[string]string{}
		for name, values := range got.header {
			lower[strings.ToLower(name)] = values[0]
		}
		require.Equal(t, []string{event, number, "application/json"},
			[]string{lower["x-event-type"], lower["x-event-type-id"], lower["content-type"]})
		require.NotContains(t, handled, lower["webhook-id"])
		handled[lower["webhook-id"]] = event
	}
}

// moving.md, What clients send: webhooks in one request, with a further header for the event type.
func TestNodeMiddlewareRegistersAllWebhooksAtOnce(t *testing.T) {
	c := newClient(t, nodeMiddleware)
	body := map[string][]map[string]string{}
	for event, header := range map[string]string{"store_creation": "number", "inventory_update": "name"} {
		body["webhooks"] = append(body["webhooks"], map[string]string{"event_type": event, "url": c.receiver.url,
			"event_type_header": "X-Hook-Event", "event_type_header_value": header})
	}
	created := c.ok("POST", webhooksPath+"bulk/", encode(t, body)).get("webhooks").list()
	require.Len(t, created, 2)
	require.NotEmpty(t, created[1].get("secret").text())
	c.push(storesPath, `{"stores":[{"ref_id":"s1","name":"S","city":"C","excluded_platforms":[]}]}`)
	got := c.awaitDelivery("store_creation", func(value) bool { return true })
	require.Equal(t, "60014", got.header.Get("X-Hook-Event"))
	c.refused("POST", webhooksPath+"bulk/", `{"webhooks":[{"event_type":18,"url":"nowhere"}]}`, "webhooks[0]")
}
