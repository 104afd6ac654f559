package menu

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// lines renders the stored state in the format of model.lines.
func (h *memoryDB) lines() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	a := h.index()
	for _, c := range h.categories {
		say("category %s %s parent=%s sort=%d active=%t", c.RefID, c.Name, h.categories[c.ParentID].RefID, c.SortOrder,
			c.Active)
	}
	for id, i := range h.items {
		say("item %s %s active=%t cats=%v %s", i.RefID, i.Title, i.Active, a.refIDs(Categories, a.to[ItemCategory][id]),
			formatValues(i.ItemValues))
	}
	for id, g := range h.groups {
		say("group %s %s %d-%d multi=%t active=%t items=%v", g.RefID, g.Title, g.MinSelectable, g.MaxSelectable,
			g.MultiOptionsEnabled, g.Active, a.sortedRefIDs(Items, a.to[GroupItem][id]))
	}
	for id, o := range h.options {
		say("option %s %s active=%t price=%s available=%t groups=%v nested=%v", o.RefID, o.Title, o.Active, o.Price,
			o.Available,
			a.sortedRefIDs(OptionGroups, a.to[OptionInGroup][id]), a.sortedRefIDs(OptionGroups, a.to[NestedGroup][id]))
	}
	for id, t := range h.taxes {
		say("tax %s %s active=%t all=%t items=%v", t.Key(), t.Title, t.Active, t.AllItems,
			a.sortedRefIDs(Items, a.to[TaxItem][id]))
	}
	for id, c := range h.charges {
		say("charge %s %s active=%t all=%t items=%v", c.Key(), c.Title, c.Active, c.AllItems,
			a.sortedRefIDs(Items, a.to[ChargeItem][id]))
	}
	for ref, s := range h.stores {
		say("%s categories=%v", ref, a.sortedRefIDs(Categories, keysOf(s.categories)))
		for id, v := range s.items {
			say("%s item %s %s", ref, h.items[id].RefID, formatValues(v))
		}
		for id, v := range s.options {
			say("%s option %s %v", ref, h.options[id].RefID, [2]string{v.Price.String(), fmt.Sprint(v.Available)})
		}
	}
	sort.Strings(out)
	return out
}

// keysOf returns the sorted ids of a set.
func keysOf(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }

func (h *memoryDB) index() *menuIndex {
	m := h.menu(MasterLocation)
	return newMenuIndex(&m)
}

func formatValues(v ItemValues) string {
	m := mValues{price: v.Price.String(), sort: v.SortOrder, stock: v.CurrentStock, recommended: v.Recommended,
		available: v.Available, platform: map[string]string{}}
	if v.ExternalPrice != nil {
		m.external = v.ExternalPrice.String()
	}
	for _, p := range decodeDocument[[]PlatformPrice](v.PlatformPricing) {
		m.platform[p.Platform] = p.Price.String()
	}
	return m.format()
}
