package compat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Python ERP sends its catalogue with the json module: separators with blanks, floats in repr form, None as null, and
// escaped non-ASCII characters. It knows the items of one store at a time.
var pythonERP = map[string]string{"User-Agent": "python-requests/2.32", "Accept": "*/*",
	"Accept-Encoding": "gzip, deflate", "Content-Type": "application/json"}

// pythonTax is the body of a tax for some items.
func pythonTax(rate, rest string, items ...string) string {
	return fmt.Sprintf(`{"taxes": [{"code": "ST_P", "title": "Sales Tax", "structure": {"value": %s}%s,`+
		` "item_ref_ids": [%s]}]}`,
		rate, rest, quoted(items))
}

func quoted(refs []string) string {
	list := make([]string, len(refs))
	for i, ref := range refs {
		list[i] = fmt.Sprintf("%q", ref)
	}
	return strings.Join(list, ", ")
}

const pythonItems = `{"items": [{"ref_id": "tea", "title": "Tea", "price": 2.5}, {"ref_id": "pie", "title": "Pie",
	"price": 4.0},
	{"ref_id": "soup", "title": "Soup", "price": 5.25}, {"ref_id": "cake", "title": "Cake", "price": 3.75}]}`

// taxed returns the items of each tax rate.
func (c *client) taxed() map[string][]string {
	c.t.Helper()
	rates := map[string][]string{}
	for _, tax := range c.stored("-1", "taxes") {
		if tax.get("active").truth() {
			rates[fmt.Sprint(tax.get("structure.value").number())] = texts(tax.get("item_ref_ids").list())
		}
	}
	return rates
}

// moving.md, What clients send: the items of one store in item_ref_ids of a tax or charge are added.
func TestPythonERPTaxesTheItemsOfOneStore(t *testing.T) {
	c := newClient(t, pythonERP)
	c.stores("north", "south")
	c.applied("-1", pythonItems)
	require.Empty(t, warnings(c.applied("north", pythonTax("7.25", "", "tea", "pie"))))
	adds := c.applied("south", pythonTax("7.25", "", "soup"))
	require.Equal(t, map[string][]string{"7.25": {"tea", "pie", "soup"}}, c.taxed())
	require.Equal(t, []string{"taxes[0].item_ref_ids: item_ref_ids adds to ST_P 7.25, which still applies to 2 items " +
		"that it does not list: send clear_items true to remove it"}, warnings(adds))
	require.Empty(t, warnings(c.applied("-1", pythonTax("7.25", "", "tea", "pie", "soup"))))

	other := c.applied("north", pythonTax("9.5", "", "tea"))
	require.Equal(t, map[string][]string{"7.25": {"pie", "soup"}, "9.5": {"tea"}}, c.taxed(),
		"another rate of the code takes its items")
	require.Empty(t, warnings(other), "the request names what it takes")
	cleared := c.applied("south", pythonTax("7.25", `, "clear_items": true`, "cake"))
	require.Equal(t, map[string][]string{"7.25": {"cake"}, "9.5": {"tea"}}, c.taxed())
	require.Equal(t, []string{"taxes: ST_P 7.25 no longer applies to 2 items outside this request"},
		warnings(cleared))
	off := c.applied("-1", pythonTax("9.5", `, "active": false`))
	require.Equal(t, map[string][]string{"7.25": {"cake"}}, c.taxed())
	require.Equal(t, []string{"taxes: ST_P 9.5 no longer applies to 1 item outside this request"},
		warnings(off))
	all := c.applied("-1", pythonTax("8", "", "all"))
	require.Equal(t, []string{"all"}, c.taxed()["8"])
	require.Equal(t, []string{"taxes: ST_P 7.25 no longer applies to 1 item outside this request"},
		warnings(all), "of 9.5, which was off, nothing is lost")
	flushed := c.applied("-1", `{"flush_taxes": true, "taxes": []}`)
	require.Empty(t, c.taxed())
	require.Equal(t, []string{"taxes: ST_P 8 no longer applies to all items outside this request"},
		warnings(flushed))
}

// moving.md, What clients send: the same for charges; clear_items removes items. A charge without items does not become
// one for every order.
func TestPythonERPChargesTheItemsOfOneStore(t *testing.T) {
	c := newClient(t, pythonERP)
	c.stores("north", "south")
	c.applied("north", pythonItems)
	c.applied("south", pythonItems)
	c.subscribe("order_placed")
	charge := func(rest string) string {
		return `{"charges": [{"code": "PC_F", "title": "Packaging Charge", ` +
			`"structure": {"value": 1.5, "applicable_on": null}, ` + rest + `}]}`
	}
	orders := 0
	charged := func(item string) float64 {
		t.Helper()
		orders++
		id := c.place(fmt.Sprintf(`{"platform": "web", "platform_order_id": %d, "store_ref_id": "north",
			"items": [{"ref_id": %q, "quantity": 1}]}`, orders, item))
		return c.placed(id).get("order.details.total_charges").number()
	}
	c.applied("north", charge(`"item_ref_ids": ["tea"]`))
	c.applied("south", charge(`"item_ref_ids": ["pie"]`))
	require.Equal(t, []float64{1.5, 1.5, 0}, []float64{charged("tea"), charged("pie"), charged("cake")})
	cleared := c.applied("-1", charge(`"clear_items": true, "item_ref_ids": []`))
	require.Equal(t, []string{"charges: PC_F 1.5 no longer applies to 2 items outside this request"},
		warnings(cleared))
	require.Contains(t, warnings(cleared.get("charges.0"))[0], "applies to no order until the list names items")
	require.Equal(t, []float64{0, 0}, []float64{charged("tea"), charged("cake")})
	require.True(t, c.stored("-1", "charges")[0].get("cleared").truth())
	c.applied("south", charge(`"item_ref_ids": ["cake"]`))
	require.Equal(t, []float64{0, 1.5}, []float64{charged("tea"), charged("cake")})
	c.applied("-1", charge(`"clear_items": true, "item_ref_ids": ["all"]`))
	require.Equal(t, []float64{1.5, 1.5}, []float64{charged("tea"), charged("cake")})
}

// moving.md, What clients send: null for an optional field means absent; doubles are rounded with a warning; serves: 0
// means none.
func TestPythonERPSendsFloatsAndNulls(t *testing.T) {
	c := newClient(t, pythonERP)
	c.subscribe("store_creation", "inventory_update")
	created := c.push(storesPath, `{"stores": [{"ref_id": "caf\u00e9", "name": "Caf\u00e9 \ud83c\udf75",
		"city": "Oakland",
		"min_pickup_time": 900.0, "min_order_value": 12.0, "geo_latitude": 37.804400000000001,
		"geo_longitude": -122.2712,
		"zip_codes": null, "timings": null, "translations": null, "excluded_platforms": [],
		"included_platforms": null}]}`)
	require.Equal(t, "A", created.get("stores.0.upipr_status.action").text())
	callback := c.applied("caf%C3%A9", `{"flush_items": null, "flush_categories": null, "categories": null, "items": [
		{"ref_id": "tea", "title": "T\u00ea", "price": 6.599999999999999, "external_price": 7.1000000000000005,
			"markup_price": null, "description": null, "serves": 0, "current_stock": -1, "sort_order": 1.0,
			"category_ref_ids": [], "tags": null, "translations": [{"language": "fr", "title": "Th\u00e9",
			"description": null}],
			"platform_pricing": [{"platform": "web", "price": 6.499999999999999}], "img_url": null, "images": []},
		{"ref_id": "pie", "title": "Pie", "price": 1e1, "serves": 2.0, "weight": 250.0}]}`)
	require.Equal(t, []string{"price: price has more decimals than the currency in 3 cases, rounded " +
		"such as 6.599999999999999 to 6.6"}, warnings(callback))
	require.Equal(t, []string{"serves: serves is 0, and is read as absent"}, warnings(callback.get("items.0")))
	items := c.stored("caf%C3%A9", "items")
	tea, pie := find(items, "ref_id", "tea"), find(items, "ref_id", "pie")
	require.Equal(t, []any{"Tê", 6.6, 7.1}, tea.all("title", "price", "external_price"))
	require.False(t, tea.has("serves"))
	require.Equal(t, []any{10.0, 2.0}, pie.all("price", "serves"))
}
