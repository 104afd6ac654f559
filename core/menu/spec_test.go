package menu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// effectRow is a sequence of requests, and a check of the result. A request begins with its location: "M " for the
// master catalogue, "S1" or "S2" for a store.
type effectRow struct {
	says     string
	requests []string
	holds    func(t *testing.T, h *memoryDB, last Plan)
}

func runEffects(t *testing.T, rows []effectRow) {
	t.Helper()
	vocabulary := fakeVocabulary(t)
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			h := newMemoryDB(t, vocabulary, "IN")
			var last Plan
			for _, request := range row.requests {
				location, body := request[:2], request[2:]
				if location == "M " {
					location = MasterLocation
				}
				_, last = h.send(location, body)
			}
			row.holds(t, h, last)
		})
	}
}

func (h *memoryDB) item(ref string) *Item         { return byRef(h.items, ref) }
func (h *memoryDB) option(ref string) *Option     { return byRef(h.options, ref) }
func (h *memoryDB) category(ref string) *Category { return byRef(h.categories, ref) }
func (h *memoryDB) group(ref string) *OptionGroup { return byRef(h.groups, ref) }
func (h *memoryDB) sells(store, ref string) bool  { return h.at(store, ref) != nil }
func (h *memoryDB) listed(store, ref string) bool {
	return h.stores[store].categories[h.category(ref).ID]
}
func (h *memoryDB) offers(store, ref string) bool { return h.optionAt(store, ref) != nil }
func message(p Plan, kind Kind, i int) string     { return p.Outcomes[kind][i].Message }

func (h *memoryDB) at(store, ref string) *ItemValues {
	if v, sold := h.stores[store].items[h.item(ref).ID]; sold {
		return &v
	}
	return nil
}

func (h *memoryDB) optionAt(store, ref string) *OptionValues {
	if v, sold := h.stores[store].options[h.option(ref).ID]; sold {
		return &v
	}
	return nil
}

func byRef[R any, P record[R]](all map[int64]R, refID string) *R {
	for _, r := range all {
		if P(&r).ref().RefID == refID {
			return &r
		}
	}
	return nil
}

func equal(t *testing.T, want string, got interface{ String() string }) {
	t.Helper()
	require.Equal(t, want, got.String())
}

const (
	tea  = `{"items":[{"ref_id":"tea","title":"Tea","price":10}]}`
	two  = `{"items":[{"ref_id":"tea","title":"Tea","price":10},{"ref_id":"cake","title":"Cake","price":20}]}`
	milk = `{"option_groups":[{"ref_id":"G","title":"Milk"}],` +
		`"options":[{"ref_id":"soy","title":"Soy","price":1,"opt_grp_ref_ids":["G"]},` +
		`{"ref_id":"oat","title":"Oat","price":2,"opt_grp_ref_ids":["G"]}]}`
)

func TestMasterAndStoreRecordsFollowTheModel(t *testing.T) {
	runEffects(t, []effectRow{
		{"the master record is created first if absent, then the store reference is set", []string{"S1" + tea},
			func(t *testing.T, h *memoryDB, last Plan) {
				equal(t, "10", h.item("tea").Price)
				equal(t, "10", h.at("S1", "tea").Price)
				require.False(t, h.sells("S2", "tea"))
				require.Equal(t, Stats{Created: 1}, last.Stats[Items])
			}},
		{"a master request makes no store reference", []string{"M " + tea}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.False(t, h.sells("S1", "tea"))
		}},
		{"price is the base price when the item is newly created",
			[]string{"S1" + tea, `S2{"items":[{"ref_id":"tea","price":12}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				equal(t, "10", h.item("tea").Price)
				equal(t, "10", h.at("S1", "tea").Price)
				equal(t, "12", h.at("S2", "tea").Price)
			}},
		{"a master request updates store-shared attributes at no store", []string{"S1" + tea,
			`M {"items":[{"ref_id":"tea","price":11,"sort_order":5,"recommended":true,"available":false,` +
				`"current_stock":3}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			at := h.at("S1", "tea")
			equal(t, "10", at.Price)
			require.Equal(t, []any{int64(0), false, true, int64(-1)},
				[]any{at.SortOrder, at.Recommended, at.Available, at.CurrentStock})
			equal(t, "11", h.item("tea").Price)
		}},
		{"price, sort_order and recommended of a store request change at store level only",
			[]string{"M " + tea, "S1" + tea,
				`S1{"items":[{"ref_id":"tea","price":15,"sort_order":2,"recommended":true,"current_stock":7}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				at, master := h.at("S1", "tea"), h.item("tea")
				require.Equal(t, []any{"15", int64(2), true, int64(7)},
					[]any{at.Price.String(), at.SortOrder, at.Recommended, at.CurrentStock})
				require.Equal(t, []any{"10", int64(0), false, int64(-1)},
					[]any{master.Price.String(), master.SortOrder, master.Recommended, master.CurrentStock})
			}},
		{"a new store reference takes from the master what the request does not say", []string{
			`M {"items":[{"ref_id":"tea","title":"Tea","price":10,"sort_order":4,"recommended":true,` +
				`"current_stock":9,"external_price":13}]}`,
			`S1{"items":[{"ref_id":"tea","price":11}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			at := h.at("S1", "tea")
			require.Equal(t, []any{"11", int64(4), true, int64(9), "13"},
				[]any{at.Price.String(), at.SortOrder, at.Recommended, at.CurrentStock, at.ExternalPrice.String()})
		}},
		{"what stores share is updated by a store request too",
			[]string{"M " + tea, `S1{"items":[{"ref_id":"tea","title":"Chai","price":10}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.Equal(t, "Chai", h.item("tea").Title)
			}},
		{"price and availability of an option vary by store, its sort_order does not", []string{"M " + milk,
			`S1{"options":[{"ref_id":"soy","price":5,"available":false,"sort_order":3}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				equal(t, "1", h.option("soy").Price)
				equal(t, "5", h.optionAt("S1", "soy").Price)
				require.False(t, h.optionAt("S1", "soy").Available)
				require.True(t, h.option("soy").Available)
				require.Equal(t, int64(3), h.option("soy").SortOrder)
			}},
		{"sold_at_store false takes the item from the store",
			[]string{"S1" + tea, `S1{"items":[{"ref_id":"tea","price":1,"sold_at_store":false}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.False(t, h.sells("S1", "tea"))
				require.True(t, h.item("tea").Active)
				require.Equal(t, "D", last.Outcomes[Items][0].Action)
			}},
		{"sold_at_store false at an item that is not sold there changes nothing",
			[]string{"M " + tea, `S1{"items":[{"ref_id":"tea","price":1,"sold_at_store":false}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.False(t, last.HasChanges())
				require.Equal(t, Stats{Updated: 1}, last.Stats[Items])
			}},
		{"sold_at_store in a master request is ignored",
			[]string{"S1" + tea, `M {"items":[{"ref_id":"tea","price":10,"sold_at_store":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.sells("S1", "tea"))
			}},
		{"an item that comes back to a store starts fresh",
			[]string{"S1" + tea, `S1{"items":[{"ref_id":"tea","price":99,"sort_order":3}]}`,
				`S1{"items":[{"ref_id":"tea","price":1,"sold_at_store":false}]}`,
				`S1{"items":[{"ref_id":"tea","price":12}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				equal(t, "12", h.at("S1", "tea").Price)
				require.Zero(t, h.at("S1", "tea").SortOrder)
			}},
		{"a category named by a store request is associated with the store",
			[]string{`S1{"categories":[{"ref_id":"C","name":"Drinks"}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.listed("S1", "C"))
				require.False(t, h.listed("S2", "C"))
			}},
	})
}

func TestAvailabilityIsStoredPerStore(t *testing.T) {
	disabled := `M {"flush_items":true,"items":[{"ref_id":"cake","title":"Cake","price":20}]}`
	runEffects(t, []effectRow{
		{"available false makes it unavailable at that store only",
			[]string{"S1" + tea, "S2" + tea, `S1{"items":[{"ref_id":"tea","price":10,"available":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.at("S1", "tea").Available)
				require.True(t, h.at("S2", "tea").Available)
				require.True(t, h.item("tea").Active)
				require.True(t, h.item("tea").Available)
			}},
		{"an item made unavailable at its first store stays enabled for others",
			[]string{`S1{"items":[{"ref_id":"tea","title":"Tea","price":10,"available":false}]}`,
				`S2{"items":[{"ref_id":"tea","price":10}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.at("S1", "tea").Available)
				require.True(t, h.at("S2", "tea").Available)
			}},
		{"available true at a store re-enables an item disabled at the master",
			[]string{"M " + tea, disabled, `S1{"items":[{"ref_id":"tea","price":10,"available":true}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.True(t, h.at("S1", "tea").Available)
				require.True(t, h.item("tea").Active)
				require.True(t, last.Outcomes[Items][0].Changed)
			}},
		{"naming it without available does not re-enable it",
			[]string{"M " + tea, disabled, `S1{"items":[{"ref_id":"tea","price":10}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.item("tea").Active)
			}},
		{"a master request with available true re-enables it too",
			[]string{"M " + tea, disabled, `M {"items":[{"ref_id":"tea","price":10,"available":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.item("tea").Active)
			}},
		{"options likewise", []string{"M " + milk, `M {"flush_options":true,"options":[]}`,
			`S1{"options":[{"ref_id":"soy","price":1,"available":true}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.True(t, h.option("soy").Active)
			require.False(t, h.option("oat").Active)
		}},
	})
}

func TestFlushDeactivatesUnlistedObjects(t *testing.T) {
	drinks := `{"categories":[{"ref_id":"C","name":"Drinks"},{"ref_id":"D","name":"Food"}]}`
	runEffects(t, []effectRow{
		{"categories: listed active, all others deactivated, category-location associations removed",
			[]string{"S1" + drinks,
				`M {"flush_categories":true,"categories":[{"ref_id":"C"},{"ref_id":"E","name":"New"}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []bool{true, false, true},
					[]bool{h.category("C").Active, h.category("D").Active, h.category("E").Active})
				require.False(t, h.listed("S1", "C"))
				require.Equal(t, Stats{Created: 1, Updated: 1, Deleted: 1}, last.Stats[Categories])
			}},
		{"categories: a later store request enabling one enables it for all stores", []string{"S1" + drinks,
			`M {"flush_categories":true,"categories":[]}`, `S1{"categories":[{"ref_id":"C","active":true}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.category("C").Active)
			}},
		{"categories: one listed as inactive stays so",
			[]string{"M " + drinks, `M {"flush_categories":true,"categories":[{"ref_id":"C","active":false}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.category("C").Active)
			}},
		{"items: listed active, all others disabled, all item-store associations removed",
			[]string{"S1" + two, "S2" + tea,
				`M {"flush_items":true,"items":[{"ref_id":"tea","price":10}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.True(t, h.item("tea").Active)
				require.False(t, h.item("cake").Active)
				require.False(t, h.sells("S1", "tea") || h.sells("S1", "cake") || h.sells("S2", "tea"))
				require.Equal(t, Stats{Updated: 1, Deleted: 2}, last.Stats[Items],
					"cake is disabled, and tea taken from two stores")
			}},
		{"items at a store: only listed items remain associated",
			[]string{"S1" + two, "S2" + two, `S1{"flush_items":true,"items":[{"ref_id":"tea","price":10}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.True(t, h.sells("S1", "tea"))
				require.False(t, h.sells("S1", "cake"))
				require.True(t, h.sells("S2", "cake"))
				require.True(t, h.item("cake").Active)
				require.Equal(t, Stats{Updated: 1, Deleted: 1}, last.Stats[Items])
			}},
		{"an empty array with its flush empties", []string{"S1" + two, `S1{"flush_items":true,"items":[]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Empty(t, h.stores["S1"].items)
				require.Equal(t, Stats{Deleted: 2}, last.Stats[Items])
			}},
		{"an item that is listed but fails is not taken out",
			[]string{"S1" + two,
				`S1{"categories":[{"ref_id":"P","name":"p"},{"ref_id":"C","name":"c","parent_ref_id":"P"}],` +
					`"flush_items":true,"items":[{"ref_id":"tea","price":1,"category_ref_ids":["P"]}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				equal(t, "10", h.at("S1", "tea").Price)
				require.Equal(t, Stats{Errors: 1, Deleted: 1}, last.Stats[Items])
			}},
		{"option groups: listed active, others disabled",
			[]string{"M " + milk, `M {"flush_option_groups":true,"option_groups":[{"ref_id":"H","title":"Size"}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.group("G").Active)
				require.True(t, h.group("H").Active)
			}},
		{"option groups: a later store request enabling one enables it for all stores",
			[]string{"M " + milk, `M {"flush_option_groups":true,"option_groups":[]}`,
				`S1{"option_groups":[{"ref_id":"G","active":true}]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.group("G").Active)
			}},
		{"options: listed active, others deactivated, all option-store associations removed",
			[]string{"S1" + milk, `M {"flush_options":true,"options":[{"ref_id":"soy","price":1}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.option("soy").Active)
				require.False(t, h.option("oat").Active)
				require.False(t, h.offers("S1", "soy") || h.offers("S1", "oat"))
			}},
		{"options at a store: other option associations of the store removed",
			[]string{"S1" + milk, "S2" + milk, `S1{"flush_options":true,"options":[{"ref_id":"soy","price":1}]}`},
			func(t *testing.T, h *memoryDB, _ Plan) {
				require.True(t, h.offers("S1", "soy") && h.offers("S2", "oat"))
				require.False(t, h.offers("S1", "oat"))
			}},
		{"taxes: listed active, others disabled",
			[]string{`M {"taxes":[{"code":"CGST_P","title":"GST","structure":{"value":2.5}},{"code":"SGST_P",` +
				`"title":"GST","structure":{"value":2.5}}]}`,
				`M {"flush_taxes":true,"taxes":[{"code":"CGST_P","structure":{"value":2.5}}]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.Equal(t, []Ref{{ID: 2, RefID: "SGST_P 2.5", Active: true}}, last.Deactivated[Taxes])
				require.False(t, h.taxes[2].Active)
				require.True(t, h.taxes[1].Active)
			}},
		{"charges: listed active, others disabled",
			[]string{`M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":2}}]}`,
				`M {"flush_charges":true,"charges":[]}`}, func(t *testing.T, h *memoryDB, _ Plan) {
				require.False(t, h.charges[1].Active)
			}},
		{"flushes for the master only are warnings at a store",
			[]string{"M " + drinks,
				`S1{"flush_categories":true,"flush_option_groups":true,"flush_taxes":true,"flush_charges":true,` +
					`"categories":[],"option_groups":[],"taxes":[],"charges":[]}`},
			func(t *testing.T, h *memoryDB, last Plan) {
				require.True(t, h.category("C").Active)
				require.Len(t, last.Warnings, 4)
				require.Equal(t, Warning{"flush_categories",
					"flush_categories has no effect in a store request: it is for the master catalogue"},
					last.Warnings[0])
			}},
	})
}

func TestFlushGuardHoldsLargeFlushes(t *testing.T) {
	run := func(percent int, body string) (*memoryDB, Plan) {
		h := newMemoryDB(t, fakeVocabulary(t), "IN")
		h.send(MasterLocation, two)
		h.rules.FlushGuard = percent
		_, plan := h.send(MasterLocation, body)
		return h, plan
	}
	h, plan := run(49, `{"flush_items":true,"items":[{"ref_id":"tea","title":"Chai","price":10}]}`)
	require.True(t, h.item("cake").Active, "held")
	require.Equal(t, "Chai", h.item("tea").Title, "the objects go on")
	require.True(t, plan.Held[Items])
	require.Contains(t, plan.Warnings[0].Message,
		"The removal of items that the request does not list (flush_items) was not applied. It would remove "+
			"1 of 2 items from the menu. A request may remove at "+
			"most 49% of the items.")
	h, _ = run(50, `{"flush_items":true,"items":[{"ref_id":"tea","price":10}]}`)
	require.False(t, h.item("cake").Active, "50% of two is one")
	h, plan = run(10, `{"flush_items":true,"confirm_flush":true,"items":[]}`)
	require.False(t, h.item("cake").Active || h.item("tea").Active, "confirmed")
	require.Empty(t, plan.Warnings)
	h, _ = run(0, `{"flush_items":true,"items":[]}`)
	require.False(t, h.item("cake").Active, "off by default")
}

func TestFlushGuardCountsStoreItemsOfMasterFlushes(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, two)
	h.send("S1", `{"categories":[{"ref_id":"C","name":"Drinks"}],"items":[{"ref_id":"tea","price":10}]}`)
	h.rules.FlushGuard = 50
	const all = `"flush_items":true,"items":[{"ref_id":"tea","price":10},{"ref_id":"cake","price":20}]`
	_, plan := h.send(MasterLocation, `{`+all+`}`)
	require.False(t, plan.Held[Items], "1 of 2")
	require.Equal(t, Stats{Updated: 2, Deleted: 1}, plan.Stats[Items])
	for _, store := range []string{"S1", "S2"} {
		h.send(store, two)
	}
	_, plan = h.send(MasterLocation, `{`+all+`,"flush_categories":true,"categories":[{"ref_id":"C"}]}`)
	require.True(t, h.sells("S1", "tea") && h.sells("S2", "cake"), "held")
	require.Equal(t, Stats{Updated: 2}, plan.Stats[Items])
	require.Equal(t,
		"The removal of items that the request does not list (flush_items) was not applied. It would remove "+
			"2 of 2 items from the menu and from the menus of the stores. A "+
			"request may remove at most 50% of the items. Ask the developer of the POS whether this removal is "+
			"intended. If so, the POS must send the request with confirm_flush true", plan.Warnings[0].Message)
	require.False(t, plan.Held[Categories], "no store sells a category")
	_, plan = h.send(MasterLocation, `{"confirm_flush":true,`+all+`}`)
	require.Empty(t, h.stores["S1"].items)
	require.Equal(t, Stats{Updated: 2, Deleted: 2}, plan.Stats[Items])
}
