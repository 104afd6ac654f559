package menu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

var (
	web   = core.Platform{Name: "web", ServedBy: core.ServedByMerchant}
	tasty = core.Platform{Name: "tasty-eats", ServedBy: "aggregator-b"}
)

func (h *memoryDB) effectiveMenu(store string, platform core.Platform, blocked ...int64) EffectiveMenu {
	set := map[int64]bool{}
	for _, id := range blocked {
		set[id] = true
	}
	return Effective(store, h.menu(store), platform, set)
}

func names[T any](list []T, name func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, one := range list {
		out = append(out, name(one))
	}
	return out
}

func (e EffectiveMenu) categories() []string {
	return names(e.Categories, func(c EffectiveCategory) string { return c.RefID })
}
func (e EffectiveMenu) items() []string {
	return names(e.Items, func(i EffectiveItem) string { return i.RefID })
}
func (e EffectiveMenu) groups() []string {
	return names(e.OptionGroups, func(g EffectiveOptionGroup) string { return g.RefID })
}
func (e EffectiveMenu) options() []string {
	return names(e.Options, func(o EffectiveOption) string { return o.RefID })
}

func TestEffectiveMenuShowsWhatCustomersSee(t *testing.T) {
	master := `M {"items":[{"ref_id":"tea","price":10,` // the start of a master request that changes tea
	runEffects(t, []effectRow{
		{"everything that is sold and available", []string{"S1" + whole}, func(t *testing.T, h *memoryDB, _ Plan) {
			e := h.effectiveMenu("S1", web)
			require.Equal(t, []string{"D", "C"}, e.categories())
			require.Equal(t, []string{"cake", "tea"}, e.items())
			require.Equal(t, []string{"H", "G"}, e.groups())
			require.Equal(t, []string{"big", "soy"}, e.options())
			require.Equal(t, []string{"all"}, e.Taxes[0].ItemRefIDs)
			require.Empty(t, e.Charges, "web is excluded")
			require.Equal(t, []string{"tea"}, h.effectiveMenu("S1", tasty).Charges[0].ItemRefIDs)
		}},
		{"an item with what belongs to it", []string{"S1" + whole}, func(t *testing.T, h *memoryDB, _ Plan) {
			own, there := h.effectiveMenu("S1", web).Items[1], h.effectiveMenu("S1", tasty).Items[1]
			require.Equal(t, []string{"10.25", "15", "https://x.example/w.png"},
				[]string{own.Price.String(), own.MarkupPrice.String(), own.ImgURL})
			require.Equal(t, []string{"13", "15", "https://x.example/d.png"},
				[]string{there.Price.String(), there.MarkupPrice.String(), there.ImgURL})
			require.Equal(t, []string{"hot"}, own.Tags)
			require.Equal(t, []string{"new"}, there.Tags)
			require.Equal(t, []string{"D"}, own.CategoryRefIDs)
			require.Equal(t, []string{"G"}, own.OptionGroupRefIDs)
			require.Equal(t, int64(5), own.CurrentStock)
		}},
		{"img_url where images has no default", []string{"S1" + whole}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, "https://x.example/o.png", h.effectiveMenu("S1", tasty).Options[1].ImgURL)
			require.Equal(t, "https://x.example/s.png", h.effectiveMenu("S1", web).Options[1].ImgURL)
		}},
		{"a store without references sees nothing", []string{"M " + whole}, func(t *testing.T, h *memoryDB, _ Plan) {
			e := h.effectiveMenu("S1", web)
			require.Empty(t, e.Items)
			require.Empty(t, e.Categories)
			require.Empty(t, e.OptionGroups)
		}},
		{"an inactive category makes its items inactive",
			[]string{"S1" + whole, `M {"categories":[{"ref_id":"D","active":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Equal(t, []string{"cake"}, e.items())
				require.Empty(t, e.categories())
				require.Empty(t, e.groups(), "its groups belong to no other item")
				require.True(t, h.item("tea").Active, "its own flag stays")
			}},
		{"an inactive parent too", []string{"S1" + whole, `M {"categories":[{"ref_id":"C","active":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web).items())
			}},
		{"an inactive category makes items inactive that are in an open one too",
			[]string{"S1" + whole,
				`M {"categories":[{"ref_id":"D","active":false},{"ref_id":"E","name":"e"}],"items":[{"ref_id":"tea",` +
					`"price":10,"category_ref_ids":["D","E"]}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Equal(t, []string{"cake"}, e.items())
				require.Empty(t, e.categories())
			}},
		{"out of stock is hidden",
			[]string{"S1" + whole, `S1{"items":[{"ref_id":"tea","price":10,"current_stock":0}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web).items())
			}},
		{"-1 is never out of stock",
			[]string{"S1" + whole, `S1{"items":[{"ref_id":"tea","price":10,"current_stock":-1}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Contains(t, h.effectiveMenu("S1", web).items(), "tea")
			}},
		{"unavailable at the store is hidden",
			[]string{"S1" + whole, `S1{"items":[{"ref_id":"tea","price":10,"available":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web).items())
			}},
		{"a master request changes no availability at a store", []string{"S1" + whole, master + `"available":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Contains(t, h.effectiveMenu("S1", web).items(), "tea")
			}},
		{"an item is listed only on its included_platforms", []string{"S1" + whole},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"},
					h.effectiveMenu("S1", core.Platform{Name: "app", ServedBy: core.ServedByMerchant}).items())
			}},
		{"empty included_platforms means none", []string{"S1" + whole, master + `"included_platforms":[]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web).items())
			}},
		{"a finding blocks the listing on the platform", []string{"S1" + whole},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web, h.item("tea").ID).items())
			}},
	})
}

// sizes offers tea in two sizes. A customer must choose one of them.
const sizes = `S1{"option_groups":[{"ref_id":"size","title":"Size","min_selectable":1,"item_ref_ids":["tea"]},` +
	`{"ref_id":"G","active":false}],
	"options":[{"ref_id":"s","title":"S","price":1,"opt_grp_ref_ids":["size"]},{"ref_id":"l","title":"L","price":2,` +
	`"opt_grp_ref_ids":["size"]}]}`

func TestEffectiveMenuShowsOptionsTaxesAndCharges(t *testing.T) {
	runEffects(t, []effectRow{
		{"options of an inactive group are not orderable",
			[]string{"S1" + whole, `M {"option_groups":[{"ref_id":"G","active":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Empty(t, e.groups())
				require.Empty(t, e.options())
				require.Empty(t, e.Items[1].OptionGroupRefIDs)
			}},
		{"an unavailable option and the groups nested under it are hidden",
			[]string{"S1" + whole, `S1{"options":[{"ref_id":"soy","price":1,"available":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Empty(t, e.groups(), "G has no other option, and H is nested under soy")
				require.Empty(t, e.options())
			}},
		{"a nested group without options is not named",
			[]string{"S1" + whole, `S1{"options":[{"ref_id":"big","price":0,"sold_at_store":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Equal(t, []string{"G"}, e.groups())
				require.Empty(t, e.Options[0].NestedOptGrps)
			}},
		{"an item is hidden while a group requires more options than can be ordered",
			[]string{"S1" + whole, sizes}, func(t *testing.T, h *memoryDB, _ Plan) {
				seen := func(change string) []string {
					h.send(map[string]string{"M ": MasterLocation, "S1": "S1"}[change[:2]], change[2:])
					return h.effectiveMenu("S1", web).items()
				}
				require.Equal(t, []string{"cake", "tea"},
					seen(`S1{"options":[{"ref_id":"l","price":1,"available":false}]}`), "the other can be chosen")
				require.Equal(t, []string{"cake"}, seen(`S1{"options":[{"ref_id":"s","price":1,"available":false}]}`))
				e := h.effectiveMenu("S1", web)
				require.Equal(t, []OmittedItem{{"tea",
					`at least 1 of the option group "size" must be chosen, but only 0 can be ordered here`}},
					e.OmittedItems)
				require.Empty(t, e.groups())
				require.Empty(t, e.options())
				require.Equal(t, []string{"cake", "tea"},
					seen(`M {"option_groups":[{"ref_id":"size","active":false}]}`),
					"an inactive group requires nothing")
				require.Equal(t, []string{"cake"}, seen(`M {"option_groups":[{"ref_id":"size","active":true}]}`))
				require.Equal(t, []string{"cake", "tea"},
					seen(`M {"option_groups":[{"ref_id":"size","min_selectable":0}]}`))
				require.Equal(t, []string{"cake", "tea"},
					seen(`S1{"options":[{"ref_id":"s","price":1,"available":true},{"ref_id":"l","price":1,`+
						`"available":true}]}`))
				require.Equal(t, []string{"cake"},
					seen(`M {"option_groups":[{"ref_id":"size","min_selectable":3,"max_selectable":3}]}`), "of two")
				require.Equal(t, []string{"cake", "tea"},
					seen(`M {"option_groups":[{"ref_id":"size","multi_options_enabled":true}]}`), "one of them twice")
				require.Equal(t, []string{"cake", "tea"},
					seen(`S1{"options":[{"ref_id":"s","price":1,"sold_at_store":false},{"ref_id":"l","price":1,`+
						`"sold_at_store":false}]}`),
					"a group without sold options is not part of the menu")
			}},
		{"an item is hidden while the options of its group require hidden options", []string{"S1" + whole, sizes,
			`S1{"option_groups":[{"ref_id":"cup","title":"Cup","min_selectable":1}],"options":[{"ref_id":"paper",` +
				`"title":"Paper","price":0,"opt_grp_ref_ids":["cup"],"available":false},
				{"ref_id":"s","price":1,"nested_opt_grps":["cup"]}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			e := h.effectiveMenu("S1", web)
			require.Contains(t, e.items(), "tea")
			require.NotContains(t, e.options(), "s", "which needs a cup")
			h.send("S1", `{"options":[{"ref_id":"l","price":1,"available":false}]}`)
			require.Equal(t, []string{"cake"}, h.effectiveMenu("S1", web).items())
		}},
		{"an inactive tax or charge is hidden",
			[]string{"S1" + whole, `M {"flush_taxes":true,"taxes":[],"flush_charges":true,"charges":[]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", tasty)
				require.Empty(t, e.Taxes)
				require.Empty(t, e.Charges)
			}},
		{"a rate that names an item goes before one for all",
			[]string{"S1" + whole,
				`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"item_ref_ids":["tea"]}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Equal(t, [][]string{{"cake"}, {"tea"}},
					[][]string{e.Taxes[0].ItemRefIDs, e.Taxes[1].ItemRefIDs})
			}},
		{"an inactive rate leaves its items to the one for all",
			[]string{"S1" + whole,
				`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"item_ref_ids":["tea"]}]}`,
				`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":9},"active":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				e := h.effectiveMenu("S1", web)
				require.Len(t, e.Taxes, 1)
				require.Equal(t, []string{"all"}, e.Taxes[0].ItemRefIDs)
			}},
		{"a charge on the order needs no items",
			[]string{"S1" + whole, `M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":3}}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, "DC_F", h.effectiveMenu("S1", web).Charges[0].Code)
			}},
		{"a markup that is not higher is not shown",
			[]string{"S1" + whole, `S1{"items":[{"ref_id":"tea","price":15}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Nil(t, h.effectiveMenu("S1", web).Items[1].MarkupPrice)
			}},
	})
}

func TestEffectiveMenuDoesNotDependOnRowOrder(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("S1", whole)
	digest := func(m Menu) string {
		body, err := json.Marshal(Effective("S1", m, tasty, nil))
		require.NoError(t, err)
		return string(body)
	}
	want := digest(h.menu("S1"))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		m := h.menu("S1")
		shuffle(r, m.Categories)
		shuffle(r, m.Items)
		shuffle(r, m.OptionGroups)
		shuffle(r, m.Options)
		shuffle(r, m.Taxes)
		shuffle(r, m.Charges)
		for relation := range m.Links {
			shuffle(r, m.Links[relation])
		}
		require.Equal(t, want, digest(m))
	}
	h.send("S1", `{"items":[{"ref_id":"cake","price":21}]}`)
	require.NotEqual(t, want, digest(h.menu("S1")))
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestLargestMenuIsFullyVisible(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("S1", string(realFile(t, "menu-max.json")))
	e := h.effectiveMenu("S1", web)
	require.Len(t, e.Items, 2000)
	require.Len(t, e.Options, 10000)
	require.Len(t, e.OptionGroups, 2847)
	require.Len(t, e.Categories, 46)
	require.Len(t, e.Taxes, 2, "IGST is switched off")
	require.True(t, slices.IsSortedFunc(e.Items,
		func(a, b EffectiveItem) int { return int(a.SortOrder - b.SortOrder) }))
}
