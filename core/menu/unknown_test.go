package menu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

func TestUnknownReferencesAreLeftOutOfLists(t *testing.T) {
	menu := `M {"categories":[{"ref_id":"A","name":"a"}],"items":[{"ref_id":"tea","title":"Tea","price":1,` +
		`"category_ref_ids":["A"]}],"option_groups":[{"ref_id":"G","title":"g"},{"ref_id":"H","title":"h"}]}`
	const gone = `, which does not exist, and is ignored`
	for says, row := range map[string]struct {
		request string
		kind    Kind
		want    []Warning
		holds   func(t *testing.T, h *memoryDB)
	}{
		"an item keeps the categories that exist": {
			`M {"items":[{"ref_id":"pie","title":"Pie","price":2,"category_ref_ids":["no","A"]}]}`, Items,
			[]Warning{{"category_ref_ids", `category_ref_ids names the category "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"A"}, h.categoriesOf("pie")) }},
		"without one that exists, categories stay": {
			`M {"items":[{"ref_id":"tea","price":2,"category_ref_ids":["no","nor"]}]}`, Items,
			[]Warning{{"category_ref_ids",
				`category_ref_ids names 2 categories that do not exist, which are ignored: "no", "nor"`}},
			func(t *testing.T, h *memoryDB) {
				require.Equal(t, []string{"A"}, h.categoriesOf("tea"))
				equal(t, "2", h.item("tea").Price)
			}},
		"a group": {`M {"option_groups":[{"ref_id":"G","item_ref_ids":["tea","no"]}]}`, OptionGroups,
			[]Warning{{"item_ref_ids", `item_ref_ids names the item "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"tea"}, h.itemsOf("G")) }},
		"a group with other fields": {`M {"option_groups":[{"ref_id":"G","title":"new","item_ref_ids":["no"]}]}`,
			OptionGroups, []Warning{{"item_ref_ids", `item_ref_ids names the item "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, "new", h.group("G").Title) }},
		"both lists of an option": {`M {"options":[{"ref_id":"soy","title":"Soy","price":1,` +
			`"opt_grp_ref_ids":["no","G"],` +
			`"nested_opt_grps":["H","nor"]}]}`, Options,
			[]Warning{{"opt_grp_ref_ids", `opt_grp_ref_ids names the option group "no"` + gone},
				{"nested_opt_grps", `nested_opt_grps names the option group "nor"` + gone}},
			func(t *testing.T, h *memoryDB) {
				require.Equal(t, []string{"G"}, h.groupsOf("soy"))
				require.Equal(t, []string{"H"}, h.groupsUnder("soy"))
			}},
		"a tax": {`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"item_ref_ids":["no","tea"]}]}`,
			Taxes, []Warning{{"item_ref_ids", `item_ref_ids names the item "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Equal(t, []string{"tea"}, h.taxed("CGST_P 9")) }},
		"a tax that is switched off": {`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},` +
			`"active":false,"item_ref_ids":["no"]}]}`, Taxes,
			[]Warning{{"item_ref_ids", `item_ref_ids names the item "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Len(t, h.taxes, 1) }},
		"a charge": {`M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":9},` +
			`"item_ref_ids":["no","tea"]}]}`, Charges,
			[]Warning{{"item_ref_ids", `item_ref_ids names the item "no"` + gone}},
			func(t *testing.T, h *memoryDB) { require.Len(t, h.links[ChargeItem], 1) }},
	} {
		runEffects(t, []effectRow{{says, []string{menu, row.request}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Empty(t, message(last, row.kind, 0))
			require.Equal(t, row.want, last.Outcomes[row.kind][0].Warnings)
			row.holds(t, h)
		}}})
	}
}

func TestOrderChargeWithoutKnownItemsFails(t *testing.T) {
	runEffects(t, []effectRow{{"else it would apply to every order", []string{`M {"charges":[{"code":"DC_F",` +
		`"title":"Delivery Charge","structure":{"value":9},"item_ref_ids":["no"]}]}`},
		func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, `item_ref_ids names the item "no", which does not exist`, message(last, Charges, 0))
			require.Empty(t, h.charges)
		}}})
}

func TestCallbackNamesWhatAnObjectLacks(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	request, plan := h.send(MasterLocation, `{"items":[{"ref_id":"tea","title":"Tea","price":1,`+
		`"category_ref_ids":["no"],"warnings":["of an earlier callback"]}]}`)
	found := []Finding{{Platform: "web", Rule: "rule", Message: "broken"}}
	body, err := Callback(reference, request, plan, Findings{Items: {0: found}})
	require.NoError(t, err)
	eventtest.Check(t, core.InventoryUpdate, body)
	require.Contains(t, string(body), `"upipr_status":{"action":"A","id":1,"error":false},"warnings":[{"path":`+
		`"category_ref_ids","message":"category_ref_ids names the category \"no\", which does not exist, and is `+
		`ignored"}],`+
		`"platform_findings":[`)
	require.NotContains(t, string(body), "earlier callback")
	want := []Warning{{"items[0].category_ref_ids", `category_ref_ids names the category "no", which does not exist, ` +
		`and is ignored`}}
	require.Equal(t, want, plan.allWarnings())
	require.Equal(t, want, NewPreview(request, State{}, plan).Warnings)
}

func TestWarningsOfObjectsAreBounded(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	var refs, items []string
	for n := range 1000 {
		refs = append(refs, fmt.Sprintf(`"no-%d"`, n))
		items = append(items, fmt.Sprintf(`{"ref_id":"i%d","title":"I","price":1,"category_ref_ids":["no"]}`, n))
	}
	_, plan := h.send(MasterLocation, `{"items":[`+strings.Join(items, ",")+`],"option_groups":[{"ref_id":"G",`+
		`"title":"g","item_ref_ids":[`+strings.Join(refs, ",")+`]}]}`)
	require.Len(t, plan.allWarnings(), core.MaxFailedObjects)
	require.Regexp(t, `^item_ref_ids names 1000 items that do not exist, which are ignored: "no-0", .*"no-19" `+
		`and 980 more$`,
		plan.Outcomes[OptionGroups][0].Warnings[0].Message)
}
