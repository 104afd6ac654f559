package menu

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

type fields = map[string]any

// drawRefs draws distinct references, which may be unknown.
func drawRefs(t *rapid.T, label, prefix string, known, most int) []string {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%s%d", prefix, rapid.IntRange(1, known).Draw(t, "n"))
	}), 0, most, rapid.ID).Draw(t, label)
}

// maybe sets a field in half of the cases.
func maybe[T any](t *rapid.T, o fields, field string, g *rapid.Generator[T]) {
	if rapid.Bool().Draw(t, field+"?") {
		o[field] = g.Draw(t, field)
	}
}

func flag(t *rapid.T, o fields, field string) {
	if rapid.IntRange(0, 5).Draw(t, field) == 5 {
		o[field] = true
	}
}

func drawObjects(t *rapid.T, kind Kind) []fields {
	prefix := PerKind[string]{"C", "I", "G", "O", "T", "H"}[kind]
	list := []fields{}
	for _, ref := range drawRefs(t, kind.String(), prefix, 4, 3) {
		list = append(list, drawObject(t, kind, ref))
	}
	return list
}

func drawObject(t *rapid.T, kind Kind, ref string) fields {
	o := fields{"ref_id": ref}
	boolean, price := rapid.Bool(), rapid.SampledFrom([]float64{0, 1.5, 2})
	title := rapid.SampledFrom([]string{"a", "b"})
	refs := func(field, prefix string) {
		if rapid.Bool().Draw(t, field+"?") {
			o[field] = drawRefs(t, field, prefix, 5, 2) // one more than exist
		}
	}
	switch kind {
	case Categories:
		maybe(t, o, "name", title)
		maybe(t, o, "active", boolean)
		maybe(t, o, "sort_order", rapid.IntRange(0, 2))
		maybe(t, o, "parent_ref_id",
			rapid.SampledFrom(slices.DeleteFunc([]string{"", "C1", "C2", "C3", "C5"},
				func(s string) bool { return s == ref })))
	case Items:
		o["price"] = price.Draw(t, "price")
		maybe(t, o, "title", title)
		maybe(t, o, "external_price", price)
		maybe(t, o, "available", boolean)
		maybe(t, o, "sold_at_store", boolean)
		maybe(t, o, "recommended", boolean)
		maybe(t, o, "sort_order", rapid.IntRange(0, 2))
		maybe(t, o, "current_stock", rapid.IntRange(-1, 1))
		refs("category_ref_ids", "C")
		flag(t, o, "clear_option_groups")
		if rapid.Bool().Draw(t, "platform_pricing?") {
			o["platform_pricing"] = []fields{{"platform": rapid.SampledFrom([]string{"web", "tasty-eats",
				"nowhere"}).Draw(t, "platform"), "price": price.Draw(t, "p")}}
		}
	case OptionGroups:
		maybe(t, o, "title", title)
		maybe(t, o, "active", boolean)
		maybe(t, o, "multi_options_enabled", boolean)
		if rapid.Bool().Draw(t, "one") {
			o["min_selectable"] = 1
		} else {
			maybe(t, o, "max_selectable", rapid.IntRange(0, 1))
		}
		refs("item_ref_ids", "I")
		flag(t, o, "clear_items")
		flag(t, o, "clear_item_ref_ids")
		flag(t, o, "clear_options")
	case Options:
		o["price"] = price.Draw(t, "price")
		maybe(t, o, "title", title)
		maybe(t, o, "available", boolean)
		maybe(t, o, "sold_at_store", boolean)
		refs("opt_grp_ref_ids", "G")
		refs("nested_opt_grps", "G")
		flag(t, o, "clear_opt_grps")
		flag(t, o, "clear_opt_grp_ref_ids")
		flag(t, o, "clear_nested_opt_grps")
	default:
		drawAdjustment(t, kind, ref, o)
		if rapid.Bool().Draw(t, "all") {
			o["item_ref_ids"] = []string{"all"}
		} else {
			refs("item_ref_ids", "I")
		}
	}
	return o
}

func drawAdjustment(t *rapid.T, kind Kind, ref string, o fields) {
	delete(o, "ref_id")
	n := int(ref[1] - '0')
	if kind == Taxes {
		o["code"], o["structure"] = []string{"CGST_P", "SGST_P"}[n%2], fields{"value": []float64{2.5, 9}[n/3]}
		maybe(t, o, "title", rapid.SampledFrom([]string{"GST", "cgst"}))
	} else {
		o["code"], o["structure"] = "PC_F", fields{"value": n, "applicable_on": "item.quantity"}
		maybe(t, o, "title", rapid.SampledFrom([]string{"Packaging Charge", "packaging charge"}))
	}
	maybe(t, o, "active", rapid.Bool())
	flag(t, o, "clear_items")
}

func drawRequest(t *rapid.T) (location, body string) {
	request := fields{}
	for _, kind := range Kinds() {
		if rapid.Bool().Draw(t, kind.String()+"?") {
			request[kind.String()] = drawObjects(t, kind)
			flag(t, request, "flush_"+kind.String())
		}
	}
	if len(request) == 0 {
		request["items"] = []fields{}
	}
	encoded, err := json.Marshal(request, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return rapid.SampledFrom([]string{MasterLocation, "S1", "S2"}).Draw(t, "location"), string(encoded)
}

func TestRandomMenuRequestsMatchTheModel(t *testing.T) {
	vocabulary := fakeVocabulary(t)
	rapid.Check(t, func(t *rapid.T) {
		h := newMemoryDB(t, vocabulary, "IN")
		m := newModel(h)
		if rapid.Bool().Draw(t, "seeded") { // so that more references resolve
			request, _ := h.send(MasterLocation, seed)
			m.apply(request)
		}
		for n := range rapid.IntRange(1, 8).Draw(t, "requests") {
			location, body := drawRequest(t)
			t.Logf("%d. %s %s", n+1, location, body)
			request, plan := h.send(location, body)
			results, deleted := m.apply(request)
			require.Equal(t, strings.Join(m.lines(), "\n"), strings.Join(h.lines(), "\n"))
			for _, kind := range Kinds() {
				compareOutcomes(t, kind, plan, results[kind], deleted[kind])
			}
			callback, err := Callback(core.ID{}, request, plan, Findings{})
			require.NoError(t, err)
			require.NoError(t, eventtest.Validate(core.InventoryUpdate, callback))
			h.compareEffective(t, m)
		}
	})
}

// seed creates everything that drawn requests refer to, except one unknown object of each kind.
var seed = func() string {
	var parts PerKind[[]string]
	for n := 1; n <= 4; n++ {
		parts[Categories] = append(parts[Categories], fmt.Sprintf(`{"ref_id":"C%d","name":"c"}`, n))
		parts[Items] = append(parts[Items], fmt.Sprintf(`{"ref_id":"I%d","title":"i","price":3}`, n))
		parts[OptionGroups] = append(parts[OptionGroups], fmt.Sprintf(`{"ref_id":"G%d","title":"g"}`, n))
		parts[Options] = append(parts[Options], fmt.Sprintf(`{"ref_id":"O%d","title":"o","price":3}`, n))
	}
	return fmt.Sprintf(`{"categories":[%s],"items":[%s],"option_groups":[%s],"options":[%s]}`,
		strings.Join(parts[Categories], ","), strings.Join(parts[Items], ","),
		strings.Join(parts[OptionGroups], ","), strings.Join(parts[Options], ","))
}()

func compareOutcomes(t *rapid.T, kind Kind, plan Plan, want []result, deleted int) {
	stats := Stats{Deleted: deleted}
	for i, outcome := range plan.Outcomes[kind] {
		got := result(outcome.Action)
		if outcome.Message != "" {
			got += "!"
		}
		require.Equal(t, want[i], got, "%s[%d] %s", kind, i, outcome.Message)
		switch want[i] {
		case "A":
			stats.Created++
		case "U":
			stats.Updated++
		case "D":
			stats.Deleted++
		default:
			stats.Errors++
			require.Zero(t, outcome.ID)
		}
	}
	require.Len(t, plan.Outcomes[kind], len(want))
	require.Equal(t, stats, plan.Stats[kind], kind.String())
}

// compareEffective compares the visible items and their prices with the model.
func (h *memoryDB) compareEffective(t *rapid.T, m *model) {
	for _, platform := range []core.Platform{{Name: "web", ServedBy: core.ServedByMerchant},
		{Name: "tasty-eats", ServedBy: "aggregator-b"}} {
		for store, at := range m.stores {
			var want, got []string
			seen := Effective(store, h.menu(store), platform, nil)
			for ref, v := range at.items {
				i := m.items[ref]
				open := !slices.ContainsFunc(seen.OmittedItems,
					func(left OmittedItem) bool { return left.RefID == ref })
				for _, cat := range i.cats {
					c := m.cats[cat]
					open = open && c.active && (c.parent == "" || m.cats[c.parent].active)
				}
				if i.active && open && v.available && v.stock != 0 {
					want = append(want, ref+" "+m.price(i, v, platform))
				}
			}
			for _, item := range seen.Items {
				got = append(got, item.RefID+" "+item.Price.String())
			}
			sort.Strings(want)
			sort.Strings(got)
			require.Equal(t, want, got, "%s on %s", store, platform.Name)
		}
	}
}

func (m *model) price(i *mItem, v mValues, platform core.Platform) string {
	if price, set := v.platform[platform.Name]; set {
		return price
	}
	if price, set := i.platform[platform.Name]; set {
		return price
	}
	if platform.ServedBy != core.ServedByMerchant && v.external != "" {
		return v.external
	}
	return v.price
}
