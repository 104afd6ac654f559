package menu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func (h *memoryDB) taxed(key string) []string {
	for _, t := range h.taxes {
		if t.Key() == key {
			if t.AllItems {
				return []string{"all"}
			}
			a := h.index()
			return a.sortedRefIDs(Items, a.to[TaxItem][t.ID])
		}
	}
	return nil
}

func TestTaxesApplyToTheirItems(t *testing.T) {
	low := func(items string) string {
		return `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":2.5},"item_ref_ids":[` + items + `]}]}`
	}
	high := func(items string) string {
		return `M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"item_ref_ids":[` + items + `]}]}`
	}
	only := func(items string) string {
		return `M {"taxes":[{"code":"CGST_P","structure":{"value":2.5},"clear_items":true,` +
			`"item_ref_ids":[` + items + `]}]}`
	}
	items := "M " + two
	runEffects(t, []effectRow{
		{"title is required on create", []string{`M {"taxes":[{"code":"CGST_P","structure":{"value":1}}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "title is required to create a tax", message(last, Taxes, 0))
			}},
		{"code and value make a tax: another value is another tax", []string{items, low(`"tea"`), high(`"cake"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
				require.Equal(t, []string{"cake"}, h.taxed("CGST_P 9"))
			}},
		{"2.50 is the same rate as 2.5",
			[]string{items, low(`"tea"`), `M {"taxes":[{"code":"CGST_P","structure":{"value":2.50}}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Updated: 1}, last.Stats[Taxes])
				require.False(t, last.HasChanges())
			}},
		{"item_ref_ids adds", []string{items, low(`"tea"`), low(`"cake"`)}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, []string{"cake", "tea"}, h.taxed("CGST_P 2.5"))
		}},
		{"an empty list takes nothing away", []string{items, low(`"tea"`), low(``)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
				require.False(t, last.HasChanges())
			}},
		{"a list leaves a tax on all items", []string{items, low(`"all"`), low(`"tea"`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 2.5"))
				require.False(t, last.HasChanges())
			}},
		{"and takes its items from the other rates", []string{items, high(`"tea"`), low(`"all"`), high(`"tea"`),
			low(`"tea"`)}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, []string{"all"}, h.taxed("CGST_P 2.5"))
			require.Empty(t, h.taxed("CGST_P 9"))
		}},
		{"all replaces a list", []string{items, low(`"tea"`), low(`"all"`)}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, []string{"all"}, h.taxed("CGST_P 2.5"))
			require.Empty(t, h.links[TaxItem])
		}},
		{"clear_items empties first", []string{items, low(`"tea"`), only(`"cake"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.taxed("CGST_P 2.5"))
			}},
		{"clear_items ends all", []string{items, low(`"all"`), only(`"cake"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.taxed("CGST_P 2.5"))
			}},
		{"clear_items needs no list", []string{items, low(`"tea"`), `S1{"taxes":[` +
			`{"code":"CGST_P","structure":{"value":2.5},"clear_items":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Empty(t, h.taxed("CGST_P 2.5"))
				require.True(t, last.Outcomes[Taxes][0].Changed)
			}},
		{"an item has one rate per code, the latest", []string{items, low(`"tea","cake"`), high(`"tea"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.taxed("CGST_P 2.5"))
				require.Equal(t, []string{"tea"}, h.taxed("CGST_P 9"))
			}},
		{"all takes every item from the other rates of the code", []string{items, low(`"tea"`), high(`"all"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.taxed("CGST_P 2.5"))
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 9"))
			}},
		{"a later rate for one item leaves the others at all", []string{items, high(`"all"`), low(`"tea"`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 9"))
			}},
		{"another code is not touched",
			[]string{items, low(`"tea"`),
				`M {"taxes":[{"code":"SGST_P","title":"SGST","structure":{"value":9},"item_ref_ids":["all"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
			}},
		{"an unknown item is an object error", []string{low(`"none"`)}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Contains(t, message(last, Taxes, 0), `"none", which does not exist`)
		}},
		{"two new rates for all in one request: the later has them",
			[]string{`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":1},"item_ref_ids":["all"]},` +
				`{"code":"CGST_P","title":"GST","structure":{"value":2},"item_ref_ids":["all"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, h.taxed("CGST_P 1"))
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 2"))
			}},
		{"a rate that is switched off takes nothing from one that is active",
			[]string{items, low(`"all"`), `M {"taxes":[
			{"code":"CGST_P","title":"GST","structure":{"value":9},"active":true,"item_ref_ids":["all"]},
			{"code":"CGST_P","structure":{"value":2.5},"active":false,"item_ref_ids":["all"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"all"}, h.taxed("CGST_P 9"))
				require.Empty(t, h.taxed("CGST_P 2.5"))
				require.Equal(t, []Warning{{"taxes[].item_ref_ids",
					"item_ref_ids of CGST_P 2.5, which is inactive, applies to none of CGST_P 9, which is active"}},
					last.Warnings)
			}},
		{"nor an item, whatever was sent before; the others it has", []string{items, low(`"tea"`),
			`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"active":false,` +
				`"item_ref_ids":["tea","cake"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
			require.Equal(t, []string{"cake"}, h.taxed("CGST_P 9"))
			require.Len(t, last.Warnings, 1)
		}},
		{"nor by all an item that an active one names", []string{items, low(`"tea"`),
			`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"active":false,` +
				`"item_ref_ids":["all"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
			require.Equal(t, []string{"all"}, h.taxed("CGST_P 9"))
			require.Empty(t, last.Warnings)
		}},
		{"an active rate takes from one that is switched off", []string{items,
			`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"active":false,` +
				`"item_ref_ids":["tea","cake"]}]}`, low(`"tea"`)}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Equal(t, []string{"tea"}, h.taxed("CGST_P 2.5"))
			require.Equal(t, []string{"cake"}, h.taxed("CGST_P 9"))
			require.Empty(t, last.Warnings)
		}},
	})
}

func TestChargesApplyToItemsAndOrders(t *testing.T) {
	fixed :=
		`{"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":2,` +
			`"applicable_on":"item.quantity"},"item_ref_ids":["tea"],"excluded_platforms":["web"],` +
			`"fulfillment_modes":["delivery"]}]}`
	again := func(fields string) string {
		return `M {"charges":[{"code":"PC_F","structure":{"value":2,"applicable_on":"item.quantity"},` + fields + `}]}`
	}
	onOrder := func(fields string) string {
		return `M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":3},` + fields + `}]}`
	}
	seen := func(h *memoryDB) []APICharge {
		return Effective("S1", h.menu("S1"), core.Platform{Name: "web", ServedBy: core.ServedByMerchant}, nil).Charges
	}
	charged := func(h *memoryDB) []string {
		return ReadBack(MasterScope(), h.menu(MasterLocation), View{}).Charges[0].ItemRefIDs
	}
	runEffects(t, []effectRow{
		{"title is required on create", []string{`M {"charges":[{"code":"PC_F","structure":{"value":1}}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, "title is required to create a charge", message(last, Charges, 0))
			}},
		{"code, value and applicable_on make a charge",
			[]string{"M " + tea, "M " + fixed,
				`M {"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":2}}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, Stats{Created: 1}, last.Stats[Charges])
				require.Len(t, h.charges, 2)
			}},
		{"every field is kept", []string{"M " + tea, "M " + fixed}, func(t *testing.T, h *memoryDB, _ Plan) {
			c := ReadBack(MasterScope(), h.menu(MasterLocation), View{}).Charges[0]
			require.Equal(t, []string{"tea"}, c.ItemRefIDs)
			require.JSONEq(t, `["web"]`, string(c.ExcludedPlatforms))
			require.JSONEq(t, `["delivery"]`, string(c.FulfillmentModes))
			require.Equal(t, OnQuantity, c.Structure.ApplicableOn)
		}},
		{"item_ref_ids adds", []string{"M " + two, "M " + fixed, again(`"item_ref_ids":["cake"]`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []string{"tea", "cake"}, charged(h))
				require.True(t, last.Outcomes[Charges][0].Changed)
			}},
		{"all replaces a list, and a list leaves all",
			[]string{"M " + two, "M " + fixed, again(`"item_ref_ids":["all"]`), again(`"item_ref_ids":["cake"]`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"all"}, charged(h))
				require.Empty(t, h.links[ChargeItem])
			}},
		{"clear_items empties first",
			[]string{"M " + two, "M " + fixed, again(`"clear_items":true,"item_ref_ids":["cake"]`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, charged(h))
			}},
		{"clear_items without a list leaves a charge on the order for no order",
			[]string{"M " + two, onOrder(`"item_ref_ids":["tea"]`), onOrder(`"clear_items":true`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []Warning{{"item_ref_ids", "item_ref_ids of DC_F 3 is empty: the " +
					"charge applies to no order until the list names items, or all for every order"}},
					last.Outcomes[Charges][0].Warnings)
				require.Empty(t, charged(h))
				require.Empty(t, seen(h))
			}},
		{"nor does a later change without a list",
			[]string{"M " + two, onOrder(`"item_ref_ids":["tea"]`), onOrder(`"clear_items":true`),
				onOrder(`"active":true,"item_ref_ids":[]`)}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Len(t, last.Outcomes[Charges][0].Warnings, 1)
				require.False(t, last.HasChanges())
				require.Empty(t, seen(h))
			}},
		{"nor one that was on all", []string{"S1" + two, onOrder(`"item_ref_ids":["all"]`),
			onOrder(`"clear_items":true`)},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Empty(t, seen(h))
			}},
		{"a list gives it items again", []string{"S1" + two, onOrder(`"item_ref_ids":["tea"]`),
			onOrder(`"clear_items":true`), onOrder(`"item_ref_ids":["cake"]`)},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Empty(t, last.Outcomes[Charges][0].Warnings)
				require.Equal(t, []string{"cake"}, seen(h)[0].ItemRefIDs)
				require.False(t, seen(h)[0].Cleared)
			}},
		{"all gives it every order", []string{"S1" + two, onOrder(`"item_ref_ids":["tea"]`),
			onOrder(`"clear_items":true`), onOrder(`"item_ref_ids":["all"]`)}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, []string{"all"}, seen(h)[0].ItemRefIDs)
		}},
		{"one that never named items stays on every order", []string{onOrder(`"item_ref_ids":[]`),
			onOrder(`"clear_items":true`)}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Len(t, seen(h), 1)
			require.Empty(t, last.Outcomes[Charges][0].Warnings)
		}},
		{"a charge on items that is cleared needs no such care", []string{"M " + two, "M " + fixed,
			again(`"clear_items":true`)}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Empty(t, last.Outcomes[Charges][0].Warnings)
			require.Empty(t, seen(h))
		}},
		{"an unknown platform is kept, with a warning",
			[]string{`M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":1},` +
				`"excluded_platforms":["nowhere"]}]}`}, func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []Warning{{"excluded_platforms",
					`excluded_platforms names the platform "nowhere"` + later}}, last.Outcomes[Charges][0].Warnings)
				require.JSONEq(t, `["nowhere"]`,
					string(ReadBack(MasterScope(), h.menu(MasterLocation), View{}).Charges[0].ExcludedPlatforms))
			}},
	})
}

// later is the end of a warning about unknown platforms.
const later = ", which this business does not have yet"

func TestUnknownPlatformsTakeEffectLater(t *testing.T) {
	with := func(rest string) string {
		return `M {"items":[{"ref_id":"tea","title":"Tea","price":10,` + rest + `}]}`
	}
	for says, row := range map[string]struct{ request, field, names string }{
		"tags": {with(`"tags":{"nowhere":["a"]}`), "tags", `the platform "nowhere"`},
		"included_platforms": {with(`"included_platforms":["nowhere","web"]`), "included_platforms", `the ` +
			`platform "nowhere"`},
		"platform_pricing": {with(`"platform_pricing":[{"platform":"yonder","price":1},{"platform":"nowhere",` +
			`"price":2}]`),
			"platform_pricing", `platforms "nowhere", "yonder"`},
		"images": {with(`"images":[{"tag":"nowhere","url":"https://x.example/a"}]`), "images", `the platform ` +
			`"nowhere"`},
		"default is none": {with(`"platform_pricing":[{"platform":"default","price":1}]`), "platform_pricing",
			`the platform "default"`},
		"default serves all": {with(`"tags":{"default":["a"]},"images":[{"tag":"default",` +
			`"url":"https://x.example/a"}]`),
			"", ""},
		"known ones": {with(`"tags":{"web":["a"]},"included_platforms":["tasty-eats"],` +
			`"platform_pricing":[{"platform":"app","price":1}]`), "", ""},
	} {
		runEffects(t, []effectRow{{says, []string{row.request}, func(t *testing.T, h *memoryDB, last Plan) {
			require.Empty(t, message(last, Items, 0))
			var want []Warning
			if row.field != "" {
				want = []Warning{{row.field, row.field + " names " + row.names + later}}
			}
			require.Equal(t, want, last.Outcomes[Items][0].Warnings)
		}}})
	}
	runEffects(t, []effectRow{{"a price", []string{`S1{"items":[{"ref_id":"tea","title":"Tea","price":10,` +
		`"platform_pricing":[{"platform":"nowhere","price":12}]}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
		equal(t, "12", ResolvePrice(h.item("tea"), h.at("S1", "tea"), core.Platform{Name: "nowhere", ServedBy: "b"}))
	}}})
}

func TestPlatformPricingOverridesThePrice(t *testing.T) {
	own, aggregator := core.Platform{Name: "web", ServedBy: core.ServedByMerchant},
		core.Platform{Name: "tasty-eats", ServedBy: "aggregator-b"}
	price := func(t *testing.T, want string, h *memoryDB, store string, platform core.Platform) {
		t.Helper()
		equal(t, want, ResolvePrice(h.item("tea"), h.at(store, "tea"), platform))
	}
	priced :=
		`{"items":[{"ref_id":"tea","title":"Tea","price":10,"platform_pricing":[{"platform":"tasty-eats",` +
			`"price":14}]}]}`
	runEffects(t, []effectRow{
		{"rule 1: the price of a listed platform is created, then updated",
			[]string{"M " + priced,
				`M {"items":[{"ref_id":"tea","price":10,"platform_pricing":[{"platform":"tasty-eats","price":15},` +
					`{"platform":"web","price":9}]}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.JSONEq(t, `[{"platform":"tasty-eats","price":15},{"platform":"web","price":9}]`,
					string(h.item("tea").PlatformPricing))
			}},
		{"rule 1: only the platforms that are listed",
			[]string{"M " + priced,
				`M {"items":[{"ref_id":"tea","price":10,"platform_pricing":[{"platform":"web","price":9}]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.JSONEq(t, `[{"platform":"tasty-eats","price":14},{"platform":"web","price":9}]`,
					string(h.item("tea").PlatformPricing))
			}},
		{"rule 2: omitted or empty, platform prices stay",
			[]string{"M " + priced, `M {"items":[{"ref_id":"tea","price":20}]}`,
				`M {"items":[{"ref_id":"tea","price":20,"platform_pricing":[]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.JSONEq(t, `[{"platform":"tasty-eats","price":14}]`, string(h.item("tea").PlatformPricing))
				require.False(t, last.HasChanges())
			}},
		{"rule 3: a platform without a price of its own uses the base price, and no record is made",
			[]string{"S1" + tea}, func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "10", h, "S1", aggregator)
				require.Nil(t, h.item("tea").PlatformPricing)
				require.Nil(t, h.at("S1", "tea").PlatformPricing)
			}},
		{"rule 4: a platform price goes before a newer base price",
			[]string{"S1" + priced, `S1{"items":[{"ref_id":"tea","price":20}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "14", h, "S1", aggregator)
				price(t, "20", h, "S1", own)
			}},
		{"a platform price of the master serves every store without its own",
			[]string{"M " + priced, `S1{"items":[{"ref_id":"tea","price":11}]}`,
				`S2{"items":[{"ref_id":"tea","price":11,"platform_pricing":[{"platform":"tasty-eats","price":16}]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "14", h, "S1", aggregator)
				price(t, "16", h, "S2", aggregator)
			}},
		{"a platform price of a store stays at the store",
			[]string{"S1" + priced, `S2{"items":[{"ref_id":"tea","price":11}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "14", h, "S1", aggregator)
				price(t, "11", h, "S2", aggregator)
			}},
		{"a platform price set later at the master is seen at a store without its own",
			[]string{"S1" + tea, "M " + priced}, func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "14", h, "S1", aggregator)
			}},
		{"external_price serves aggregators, price own channels",
			[]string{`S1{"items":[{"ref_id":"tea","title":"Tea","price":10,"external_price":12}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "12", h, "S1", aggregator)
				price(t, "10", h, "S1", own)
			}},
		{"a platform price goes before external_price",
			[]string{`S1{"items":[{"ref_id":"tea","title":"Tea","price":10,"external_price":12,` +
				`"platform_pricing":[{"platform":"tasty-eats","price":13}]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				price(t, "13", h, "S1", aggregator)
			}},
		{"2.50 is no change from 2.5",
			[]string{`M {"items":[{"ref_id":"tea","title":"Tea","price":2.5,"external_price":3}]}`,
				`M {"items":[{"ref_id":"tea","price":2.50,"external_price":3.0}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.False(t, last.HasChanges())
			}},
		{"exact decimals", []string{`M {"items":[{"ref_id":"tea","title":"Tea","price":19.9905}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				equal(t, "19.9905", h.item("tea").Price)
				require.Empty(t, last.Warnings)
			}},
	})
}
