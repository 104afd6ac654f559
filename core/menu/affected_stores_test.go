package menu

import (
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

func TestPlanNamesItsAffectedStores(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("-1",
		`{"categories":[{"ref_id":"C1","name":"c"}],"items":[{"ref_id":"I1","title":"i","price":1},{"ref_id":"I2",`+
			`"title":"i","price":1}],
		"option_groups":[{"ref_id":"G1","title":"g"}],"options":[{"ref_id":"O1","title":"o","price":1}],
		"taxes":[{"code":"SGST_P","title":"SGST","structure":{"value":9},"item_ref_ids":["I1"]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1,"applicable_on":"item.quantity"},
			"item_ref_ids":["I1"]}]}`)
	item := func(ref string) int64 {
		for id, i := range h.items {
			if i.RefID == ref {
				return id
			}
		}
		return 0
	}
	var option int64
	for id := range h.options {
		option = id
	}
	for name, c := range map[string]struct {
		location, body string
		reach          AffectedStores
	}{
		"nothing changes": {"-1", `{"items":[{"ref_id":"I1","price":1}]}`, AffectedStores{}},
		"an item": {"-1", `{"items":[{"ref_id":"I1","price":1,"title":"other"}]}`,
			AffectedStores{Items: []int64{item("I1")}}},
		"a new item": {"-1", `{"items":[{"ref_id":"I9","price":1,"title":"new"}]}`, AffectedStores{}},
		"a category": {"-1", `{"categories":[{"ref_id":"C1","name":"other"}]}`, AffectedStores{All: true}},
		"an item put into it": {"-1", `{"items":[{"ref_id":"I2","price":1,"category_ref_ids":["C1"]}]}`,
			AffectedStores{Items: []int64{item("I2")}}},
		"a group put under an item": {"-1", `{"option_groups":[{"ref_id":"G9","title":"new","item_ref_ids":["I1"]}]}`,
			AffectedStores{Items: []int64{item("I1")}}},
		"a tax": {"-1",
			`{"taxes":[{"code":"CGST_P","title":"CGST","structure":{"value":1},"item_ref_ids":["all"]}]}`,
			AffectedStores{All: true}},
		"an item of a tax": {"-1", `{"taxes":[{"code":"SGST_P","title":"SGST","structure":{"value":9},
			"item_ref_ids":["I2"]}]}`, AffectedStores{Items: []int64{item("I2")}}},
		"items taken from a charge": {"-1", `{"charges":[{"code":"PC_F","title":"Packaging Charge",
			"structure":{"value":1,"applicable_on":"item.quantity"},"clear_items":true}]}`, AffectedStores{All: true}},
		"a group put under an option": {"-1", `{"options":[{"ref_id":"O1","price":1,"nested_opt_grps":["G1"]}]}`,
			AffectedStores{Options: []int64{option}}},
		"a store's own": {"S1", `{"options":[{"ref_id":"O1","price":2}]}`,
			AffectedStores{AtStore: true}},
		"a flush of the master's items": {"-1", `{"flush_items":true,"items":[]}`, AffectedStores{All: true}},
	} {
		request, err := Decode([]byte(c.body), h.scope(c.location), h.rules)
		require.NoError(t, err, name)
		plan := h.plan(request)
		reach := plan.AffectedStores()
		if c.reach.All {
			require.True(t, reach.All, name)
			continue
		}
		require.Equal(t, c.reach, AffectedStores{Items: reach.Items, Options: reach.Options, AtStore: reach.AtStore},
			name)
		require.Equal(t, c.reach.Any(), reach.Any(), name)
	}
}

// The effective menu of a store that a plan does not affect stays the same on every platform.
func TestUnaffectedStoresKeepTheirMenu(t *testing.T) {
	vocabulary := fakeVocabulary(t)
	rapid.Check(t, func(t *rapid.T) {
		h := newMemoryDB(t, vocabulary, "IN")
		h.send(MasterLocation, seed)
		for _, ref := range []string{"S1", "S2"} {
			h.send(ref,
				`{"items":[{"ref_id":"I1","price":1},{"ref_id":"I2","price":1},{"ref_id":"I3","price":1}],`+
					`"options":[{"ref_id":"O1","price":1},{"ref_id":"O2","price":1}]}`)
		}
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			location, body := drawRequest(t)
			if rapid.Bool().Draw(t, "small") {
				kind := rapid.SampledFrom(Kinds()).Draw(t, "kind")
				encoded, err := json.Marshal(fields{kind.String(): drawObjects(t, kind)})
				require.NoError(t, err)
				body = string(encoded)
			}
			request, err := Decode([]byte(body), h.scope(location), h.rules)
			require.NoError(t, err)
			before := map[string]EffectiveMenu{}
			for ref := range h.stores {
				before[ref] = h.effective(ref)
			}
			plan := h.plan(request)
			h.write(plan)
			reach := plan.AffectedStores()
			for ref, s := range h.stores {
				reached := reach.All || reach.AtStore && s.id == plan.Scope.StoreID
				for _, id := range reach.Items {
					_, here := s.items[id]
					reached = reached || here
				}
				for _, id := range reach.Options {
					_, here := s.options[id]
					reached = reached || here
				}
				if !reached {
					require.Equal(t, before[ref], h.effective(ref), "store %s, %+v", ref, reach)
				}
			}
		}
	})
}

// effective returns the menu that customers of an aggregator see.
func (h *memoryDB) effective(ref string) EffectiveMenu {
	m, s := Menu{}, h.stores[ref]
	all := func(int64, Ref) (bool, bool) { return true, false }
	m.Categories, _ = part(h.categories, all)
	m.Items, _ = part(h.items, all)
	m.OptionGroups, _ = part(h.groups, all)
	m.Options, _ = part(h.options, all)
	m.Taxes, _ = part(h.taxes, all)
	m.Charges, _ = part(h.charges, all)
	for relation, links := range h.links {
		m.Links[relation] = linkList(links, func(linkEnds) bool { return true })
	}
	m.Store.Categories = slices.Sorted(maps.Keys(s.categories))
	for _, id := range slices.Sorted(maps.Keys(s.items)) {
		m.Store.Items = append(m.Store.Items, AtStore[ItemValues]{id, s.items[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(s.options)) {
		m.Store.Options = append(m.Store.Options, AtStore[OptionValues]{id, s.options[id]})
	}
	return Effective(ref, m, core.Platform{Name: "aggregator-a", ServedBy: "aggregator-a"}, nil)
}
