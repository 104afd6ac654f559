package compat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A TypeScript portal fills its objects with expressions such as `item.text && trim(item.text)`, which are false
// without a text. Its types define what it reads.
var typescriptPortal = map[string]string{"Accept": "*/*", "Accept-Language": "*", "Sec-Fetch-Mode": "cors",
	"Content-Type": "application/json"}

// moving.md, What clients send: false for none; image URLs with a bare %; platforms that do not exist yet.
func TestTypeScriptPortalSendsFalseForNone(t *testing.T) {
	c := newClient(t, typescriptPortal)
	c.stores("s1")
	callback := c.applied("-1", `{"categories":[{"ref_id":"c1","name":"Deals","description":false,"img_url":false}],`+
		`"items":[{"ref_id":"i1","title":"Combo","price":9.5,"description":false,"ref_title":false,`+
		`"img_url":"https://cdn.example.com/50% off.png","images":[{"tag":"default",`+
		`"url":"https://cdn.example.com/a%zz.png?w=20%25"}],`+
		`"tags":{"default":["new"],"tasty-eats":["hot"]},"platform_pricing":[{"platform":"tasty-eats","price":11}]}],`+
		`"option_groups":[{"ref_id":"g1","title":"Side","description":false}],`+
		`"options":[{"ref_id":"o1","title":"Fries","price":0,"description":false,"img_url":false}]}`)
	require.Equal(t, []string{"description: description is false, and is read as empty",
		"img_url: img_url is false, and is read as empty"}, warnings(callback.get("categories.0")))
	item := warnings(callback.get("items.0"))
	require.Subset(t, item, []string{"description: description is false, and is read as empty",
		"ref_title: ref_title is false, and is read as empty", "img_url: img_url has an unescaped %, stored as %25",
		"images[0].url: images[0].url has an unescaped %, stored as %25"})
	require.Len(t, item, 6, "and the platforms in tags and platform_pricing: %v", item)
	require.Len(t, warnings(callback.get("option_groups.0")), 1)
	require.Len(t, warnings(callback.get("options.0")), 2)
	stored := c.stored("-1", "items")[0]
	require.Equal(t, []any{"", "https://cdn.example.com/50%25 off.png", "https://cdn.example.com/a%25zz.png?w=20%25"},
		stored.all("description", "img_url", "images.0.url"))
	require.Equal(t, 11.0, stored.get("platform_pricing.0.price").number())
	c.refused("POST", menuPath+"-1/", `{"items":[{"ref_id":"i1","price":9.5,"title":false}]}`,
		`items[0] (ref_id "i1"): title must be`)
}

// moving.md: paths without the trailing slash, and Authorization in any letter case. The portal lists the webhooks, and
// disables and enables one, with the keys of its types.
func TestTypeScriptPortalManagesWebhooks(t *testing.T) {
	c := newClient(t, typescriptPortal)
	c.subscribe("order_placed", "inventory_update")
	upper := map[string]string{"Authorization": "APIKEY " + c.pos[len("apikey "):]}
	list := c.exchange("GET", webhooksPath[:len(webhooksPath)-1], "", upper)
	require.Equal(t, []any{2.0, 0.0}, list.all("meta.total_count", "meta.offset"))
	for _, hook := range list.get("webhooks").list() {
		id := int64(hook.get("webhook_id").number())
		require.Equal(t, []any{true, "minutes", map[string]any{}}, []any{hook.get("active").truth(),
			hook.get("retrial_interval_units").text(), hook.get("headers").is})
		for _, active := range []bool{false, true} {
			updated := c.exchange("PUT", fmt.Sprintf("%s%d", webhooksPath, id), fmt.Sprintf(`{"active":%t}`, active),
				upper)
			require.Equal(t, []any{"success", float64(id)}, updated.all("status", "webhook_id"))
			read := c.ok("GET", fmt.Sprintf("%s%d/", webhooksPath, id), "")
			require.Equal(t, []any{active, hook.get("url").is, hook.get("event_type").is},
				read.all("active", "url", "event_type"))
		}
	}
	r := c.send("GET", webhooksPath+"999999999/", "")
	require.Equal(t, []any{404, "error"}, []any{r.status, r.get("status").is})
}

// Some keys of callbacks are absent by specification, and optional in the portal's types: id of a failed object,
// err_msg of another.
func TestTypeScriptPortalReadsTheCallbackOfStores(t *testing.T) {
	c := newClient(t, typescriptPortal)
	c.subscribe("store_creation")
	callback := c.push(storesPath, `{"stores":[{"ref_id":"1","name":"Pier","city":"Oakland"},{"ref_id":"2",`+
		`"city":"Oakland"}]}`)
	require.Equal(t, []any{1.0, 0.0, 1.0}, callback.get("stats").all("created", "updated", "errors"))
	created, failed := callback.get("stores.0"), callback.get("stores.1")
	require.Equal(t, []any{"1", "Pier", "A", false}, created.all("ref_id", "name", "upipr_status.action",
		"upipr_status.error"))
	require.Positive(t, created.get("upipr_status.id").number())
	require.False(t, created.get("upipr_status").has("err_msg"))
	require.Equal(t, []any{"2", "A", true}, failed.all("ref_id", "upipr_status.action", "upipr_status.error"))
	require.Contains(t, failed.get("upipr_status.err_msg").text(), "name")
	require.False(t, failed.get("upipr_status").has("id"))
}
