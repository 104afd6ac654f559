package compat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
)

// PHP middleware maps a catalogue field by field from another system's export, and forwards its values for none.
var phpMiddleware = map[string]string{"Accept": "*/*", "Content-Type": "application/json"}

// TestPHPMiddlewareSendsValuesForNone covers the table of moving.md, What clients send. It sends false, -1, 0 or "" for
// none, duplicate languages, taxes and groups, and language codes that are not in ISO 639-1.
func TestPHPMiddlewareSendsValuesForNone(t *testing.T) {
	c := newClient(t, phpMiddleware)
	c.stores("s1")
	c.applied("s1", `{"items":[{"ref_id":"dal","title":"Dal","price":9.5},{"ref_id":"pie","title":"Pie","price":4}]}`)
	for says, row := range map[string]struct {
		body, object string
		want         []string
	}{
		"a language twice once it is reduced": {`{"items":[{"ref_id":"dal","price":9.5,"translations":[` +
			`{"language":"es_ES","title":"Lenteja"},{"language":"es_MX","title":"Lentejas"},{"language":"ES-es",` +
			`"title":"Dal"}]}]}`,
			"items.0", []string{
				`translations[0].language: translations[0].language has a region, and is stored as "es-ES"`,
				`translations[1].language: translations[1].language has a region, and is stored as "es-MX"`,
				`translations[2].language: translations[2].language has a region, and is stored as "es-ES"`,
				`translations[2].language: translations[2].language is given twice, ` +
					`and the first translation is used`}},
		"codes that are none": {`{"categories":[{"ref_id":"c","name":"C","translations":[{"language":"default",` +
			`"name":"C"},` +
			`{"language":"zzz","name":"C"}]}]}`, "categories.0", []string{
			`translations[0].language: translations[0].language is not a two-letter ISO 639-1 code, ` +
				`and is stored as "default"`,
			`translations[1].language: translations[1].language is not a two-letter ISO 639-1 code, ` +
				`and is stored as "zzz"`}},
		"no description": {`{"items":[{"ref_id":"dal","price":9.5,"description":false}]}`, "items.0",
			[]string{"description: description is false, and is read as empty"}},
		"no minimum": {`{"option_groups":[{"ref_id":"g","title":"G","min_selectable":-1,"max_selectable":-1}]}`,
			"option_groups.0", []string{"min_selectable: min_selectable is -1, and is read as 0"}},
		"no category": {`{"items":[{"ref_id":"dal","price":9.5,"category_ref_ids":[""]}]}`, "items.0",
			[]string{"category_ref_ids: category_ref_ids contains only empty references, and is read as absent"}},
		"nobody": {`{"items":[{"ref_id":"dal","price":9.5,"serves":0}]}`, "items.0",
			[]string{"serves: serves is 0, and is read as absent"}},
		"a tax twice": {`{"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8},` +
			`"item_ref_ids":["dal"]},` +
			`{"code":"ST_P","title":"Sales Tax","structure":{"value":8.0},"item_ref_ids":["pie"]}]}`, "taxes.1",
			[]string{"code: code and structure.value are the same as in taxes[0], and the two are merged"}},
		"a group twice": {`{"option_groups":[{"ref_id":"size","title":"Size","item_ref_ids":["dal"]},` +
			`{"ref_id":"size","title":"Size","item_ref_ids":["pie"]}]}`, "option_groups.1",
			[]string{"ref_id: ref_id is the same as in option_groups[0], and the two are merged"}},
	} {
		callback := c.applied("-1", row.body)
		require.Equal(t, row.want, warnings(callback.get(row.object)), says)
	}
	require.Equal(t, []string{"dal", "pie"}, texts(c.stored("-1", "taxes")[0].get("item_ref_ids").list()))
	size := find(c.stored("-1", "option_groups"), "ref_id", "size")
	require.Equal(t, []string{"dal", "pie"}, texts(size.get("item_ref_ids").list()))
	dal := find(c.stored("-1", "items"), "ref_id", "dal")
	languages := []string{}
	for _, translation := range dal.get("translations").list() {
		languages = append(languages, translation.get("language").text()+" "+translation.get("title").text())
	}
	require.Equal(t, []string{"es-ES Lenteja", "es-MX Lentejas"}, languages)
	require.False(t, dal.has("serves"))
	require.Empty(t, dal.get("category_ref_ids").list())
}

// moving.md, Check the move: a request with the same item twice is still rejected as a whole, with the path.
func TestPHPMiddlewareSendsAnItemTwice(t *testing.T) {
	c := newClient(t, phpMiddleware)
	c.refused("POST", menuPath+"-1/", `{"items":[{"ref_id":"dal","title":"Dal","price":9.5},{"ref_id":"dal",`+
		`"title":"Dal","price":9}]}`,
		`items[1] (ref_id "dal"): ref_id is the same as in items[0]`)
	require.Empty(t, c.stored("-1", "items"))
}

// moving.md, Names of platforms: a fixed name in the client's code works in requests and events, also for stores sent
// before the alias.
func TestPHPMiddlewareNamesPlatformsByItsCode(t *testing.T) {
	c := newClient(t, phpMiddleware)
	c.subscribe("store_creation", "inventory_update", "order_placed")
	created := c.push(storesPath, `{"stores":[{"ref_id":"s1","name":"S","city":"C","included_platforms":["tasty"]}]}`)
	require.Empty(t, failures(created))
	require.NoError(t, aliases.New(c.db).AddAlias(t.Context(), c.business,
		core.NewPlatformAlias{Alias: "tasty", Platform: "web"},
		access.Change{Business: c.business, Actor: "test", Action: "platform.alias"}))
	c.applied("s1", `{"items":[{"ref_id":"dal","title":"Dal","price":9.5,"included_platforms":["tasty"],
		"tags":{"tasty":["hot"]}}]}`)
	id := c.place(`{"platform":"web","platform_order_id":"P-1","store_ref_id":"s1",` +
		`"items":[{"ref_id":"dal","quantity":1}]}`)
	details := c.placed(id).get("order.details")
	require.Equal(t, "tasty", details.get("channel").text())
	require.Equal(t, "tasty", details.get("ext_platforms.0.name").text())
	c.ok("POST", "/hub/api/v1/location/", `{"location_ref_id":"s1","platforms":["tasty"],"action":"disable"}`)
}
