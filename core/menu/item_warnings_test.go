package menu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWarnsAboutTaxedItemsNotNamed(t *testing.T) {
	const menu = `M {"items":[{"ref_id":"tea","title":"Tea","price":1},{"ref_id":"cake","title":"Cake","price":1},` +
		`{"ref_id":"pie","title":"Pie","price":1}]}`
	tax := func(location, fields string) string {
		return location + `{"taxes":[{"code":"CGST_P","title":"GST",` + fields + `}]}`
	}
	const low, high = `"structure":{"value":2.5}`, `"structure":{"value":9}`
	const charge = `"code":"PC_F","structure":{"value":2,"applicable_on":"item.quantity"}`
	three := tax("M ", low+`,"item_ref_ids":["tea","cake","pie"]`)
	const lost, kept, keptAll = "CGST_P 2.5 no longer applies to ",
		"item_ref_ids adds to CGST_P 2.5, which still applies to ", ": send clear_items true to remove it"
	for says, row := range map[string]struct {
		requests []string
		want     []Warning
	}{
		"those that keep it": {[]string{three, tax("S1", low+`,"item_ref_ids":["tea"]`)},
			[]Warning{{"taxes[0].item_ref_ids", kept + "2 items that it does not list" + keptAll}}},
		"all, after a list of only an empty reference": {[]string{three, tax("M ", low+`,"item_ref_ids":[""]`)},
			[]Warning{{"taxes[0].item_ref_ids", kept + "3 items that it does not list" + keptAll}}},
		"all that keep it": {[]string{tax("M ", low+`,"item_ref_ids":["all"]`), tax("S1", low+`,`+
			`"item_ref_ids":["tea"]`)},
			[]Warning{{"taxes[0].item_ref_ids", kept + "all items" + keptAll}}},
		"none when the list names all that have it": {[]string{three, three}, nil},
		"none of an inactive tax": {[]string{three, tax("M ", low+`,"active":false,"item_ref_ids":["tea","cake",`+
			`"pie"]`),
			tax("M ", low+`,"item_ref_ids":["tea"]`)}, nil},
		"clear_items": {[]string{three, tax("S1", low+`,"clear_items":true,"item_ref_ids":["tea"]`)},
			[]Warning{{"taxes", lost + "2 items outside this request"}}},
		"active false": {[]string{three, tax("M ", low+`,"active":false`)},
			[]Warning{{"taxes", lost + "3 items outside this request"}}},
		"active false of a tax on all": {[]string{tax("M ", low+`,"item_ref_ids":["all"]`), tax("M ", low+`,`+
			`"active":false`)},
			[]Warning{{"taxes", lost + "all items outside this request"}}},
		"a flush": {[]string{three, `M {"flush_taxes":true,"taxes":[]}`},
			[]Warning{{"taxes", lost + "3 items outside this request"}}},
		"another rate on all": {[]string{three, tax("M ", high+`,"item_ref_ids":["all"]`)},
			[]Warning{{"taxes", lost + "3 items outside this request"}}},
		"not what another rate names": {[]string{three, tax("M ", high+`,"item_ref_ids":["tea","cake"]`)}, nil},
		"not all that another rate takes": {[]string{tax("M ", low+`,"item_ref_ids":["all"]`),
			tax("M ", high+`,"item_ref_ids":["all"]`)}, nil},
		"a charge": {[]string{`M {"charges":[{"title":"Packaging Charge",` + charge + `,"item_ref_ids":["tea",` +
			`"cake"]}]}`,
			`S2{"charges":[{` + charge + `,"clear_items":true,"item_ref_ids":["pie"]}]}`},
			[]Warning{{"charges",
				"PC_F 2 item.quantity no longer applies to 2 items outside this request"}}},
	} {
		runEffects(t, []effectRow{{says, append([]string{menu}, row.requests...),
			func(t *testing.T, _ *memoryDB, last Plan) { require.Equal(t, row.want, last.Warnings) }}})
	}
}
