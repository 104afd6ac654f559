package menu

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// sortedRows returns the rows of the visible records (all if visible is nil) in the order that customers see: by
// sort_order, then ref_id.
func sortedRows[R any, P record[R]](records []R, visible []bool, sortOrder func(row int32) int64) []int32 {
	type sortKey struct {
		sortOrder int64
		refID     string
		row       int32
	}
	keys := make([]sortKey, 0, len(records))
	for i := range records {
		if visible == nil || visible[i] {
			keys = append(keys, sortKey{sortOrder(int32(i)), P(&records[i]).ref().RefID, int32(i)})
		}
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		if a.sortOrder != b.sortOrder {
			return cmp.Compare(a.sortOrder, b.sortOrder)
		}
		return strings.Compare(a.refID, b.refID)
	})
	list := make([]int32, len(keys))
	for i := range keys {
		list[i] = keys[i].row
	}
	return list
}

// visibleRefIDs returns the ref_ids of the visible rows, in the given order. It is never nil, so that an entity without
// associations shows an empty list.
func visibleRefIDs[R any, P record[R]](v *visibility, records []R, rows []int32, visible []bool) []string {
	begin := len(v.refIDs)
	for _, row := range rows {
		if visible[row] {
			v.refIDs = append(v.refIDs, P(&records[row]).ref().RefID)
		}
	}
	return v.refIDs[begin:len(v.refIDs):len(v.refIDs)]
}

// groupRefIDs returns the ref_ids of the given groups that are visible, in the order that customers see.
func (v *visibility) groupRefIDs(groups []int32) []string {
	if len(groups) > 1 {
		v.sortBuffer = append(v.sortBuffer[:0], groups...)
		groups = v.sortBuffer
		slices.SortFunc(groups, func(a, b int32) int { return cmp.Compare(v.groupRank[a], v.groupRank[b]) })
	}
	return visibleRefIDs(v, v.menu.OptionGroups, groups, v.groups)
}

// itemRefIDs returns the sorted ref_ids of the given items that are visible.
func (v *visibility) itemRefIDs(items []int32) []string {
	list := visibleRefIDs(v, v.menu.Items, items, v.items)
	slices.Sort(list)
	return list
}

func (v *visibility) visibleCategories() []EffectiveCategory {
	rows := sortedRows(v.menu.Categories, v.categories,
		func(row int32) int64 { return v.menu.Categories[row].SortOrder })
	list := make([]EffectiveCategory, len(rows))
	timed := v.menu.Timings.byCategory()
	for i, row := range rows {
		c := &v.menu.Categories[row]
		list[i] = EffectiveCategory{ID: c.ID, RefID: c.RefID, CategoryDetails: c.CategoryDetails}
		if c.ParentID != 0 {
			list[i].ParentRefID = v.menu.Categories[v.rows[Categories].of(c.ParentID)].RefID // an active parent exists
		}
		if own, above := timed[c.ID], timed[c.ParentID]; own != nil || above != nil {
			now := own.open() && above.open()
			list[i].Timings, list[i].AvailableNow = effectiveHours(own.hours(), above.hours()), &now
		}
	}
	return list
}

// effectiveHours returns when a category is available, given its own hours and those of its parent. A nil list means
// always.
func effectiveHours(own, above []core.DayHours) []core.DayHours {
	switch {
	case own == nil:
		return above
	case above == nil:
		return own
	}
	return core.IntersectHours(own, above)
}

func (v *visibility) visibleItems() []EffectiveItem {
	rows := sortedRows(v.menu.Items, v.items, func(row int32) int64 { return v.storeItems[row].SortOrder })
	list := make([]EffectiveItem, len(rows))
	for i, row := range rows {
		list[i] = v.visibleItem(int(row))
	}
	return list
}

func (v *visibility) visibleItem(row int) EffectiveItem {
	item, values := &v.menu.Items[row], v.storeItems[row]
	e := EffectiveItem{
		ID: item.ID, RefID: item.RefID, ItemDetails: item.ItemDetails, ItemStoreDetails: values.ItemStoreDetails,
		Price: ResolvePrice(item, values, v.platform), ImgURL: v.image(item.Images, item.ImgURL),
		Tags:              item.TagsOn(v.platform.Name),
		CategoryRefIDs:    visibleRefIDs(v, v.menu.Categories, v.to[ItemCategory].of(row), v.categories),
		OptionGroupRefIDs: v.groupRefIDs(v.from[GroupItem].of(row)),
	}
	if values.MarkupPrice != nil && values.MarkupPrice.GreaterThan(e.Price.Decimal) {
		e.MarkupPrice = values.MarkupPrice
	}
	return e
}

func (v *visibility) visibleGroups() []EffectiveOptionGroup {
	list := make([]EffectiveOptionGroup, 0, len(v.groupOrder))
	for _, row := range v.groupOrder {
		if g := &v.menu.OptionGroups[row]; v.groups[row] {
			list = append(list, EffectiveOptionGroup{g.ID, g.RefID, g.OptionGroupDetails})
		}
	}
	return list
}

func (v *visibility) visibleOptions() []EffectiveOption {
	rows := sortedRows(v.menu.Options, v.options, func(row int32) int64 { return v.menu.Options[row].SortOrder })
	list := make([]EffectiveOption, len(rows))
	for i, row := range rows {
		o := &v.menu.Options[row]
		list[i] = EffectiveOption{
			ID: o.ID, RefID: o.RefID, OptionDetails: o.OptionDetails, Price: v.storeOptions[row].Price,
			ImgURL:       v.image(o.Images, o.ImgURL),
			OptGrpRefIDs: v.groupRefIDs(v.to[OptionInGroup].of(int(row))),
		}
		if nested := v.to[NestedGroup].of(int(row)); len(nested) > 0 {
			list[i].NestedOptGrps = v.groupRefIDs(nested)
		}
	}
	return list
}

// visibleTaxes returns the active taxes with the visible items that they apply to. An item has one rate of each code:
// one that names it takes precedence over one for all.
func (v *visibility) visibleTaxes() []APITax {
	others := map[string][]bool{} // by code: the visible items that no rate names
	for row := range v.menu.Taxes {
		if t := &v.menu.Taxes[row]; t.Active {
			if others[t.Code] == nil {
				others[t.Code] = slices.Clone(v.items)
			}
			for _, item := range v.to[TaxItem].of(row) {
				others[t.Code][item] = false
			}
		}
	}
	list := []APITax{}
	for row := range v.menu.Taxes {
		t := &v.menu.Taxes[row]
		if !t.Active {
			continue
		}
		items := v.itemRefIDs(v.to[TaxItem].of(row))
		if t.AllItems {
			items = v.allOrRefIDs(others[t.Code])
		}
		if len(items) > 0 {
			list = append(list, APITax{Tax: *t, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b APITax) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// allOrRefIDs returns "all" if the set contains every visible item, and otherwise the items in it.
func (v *visibility) allOrRefIDs(set []bool) []string {
	if slices.Equal(set, v.items) {
		return []string{AllItems}
	}
	list := []string{}
	for row := range v.menu.Items {
		if set[row] {
			list = append(list, v.menu.Items[row].RefID)
		}
	}
	slices.Sort(list)
	return list
}

// itemsOfNoCharge returns, by the exclusion key of charges for all items, the visible items that no other charge of the
// key names.
func (v *visibility) itemsOfNoCharge() map[string][]bool {
	others := map[string][]bool{}
	for row := range v.menu.Charges {
		if c := &v.menu.Charges[row]; c.Active && c.AllItems {
			others[c.ExclusionKey()] = slices.Clone(v.items)
		}
	}
	for row := range v.menu.Charges {
		c := &v.menu.Charges[row]
		if len(others) == 0 || !c.Active || c.AllItems {
			continue
		}
		if left := others[c.ExclusionKey()]; left != nil {
			for _, item := range v.to[ChargeItem].of(row) {
				left[item] = false
			}
		}
	}
	return others
}

// visibleCharges returns the active charges on a visible item or on every order, unless the platform is excluded. A
// charge that names an item takes precedence over one of the same exclusion key for all.
func (v *visibility) visibleCharges() []APICharge {
	list, others := []APICharge{}, v.itemsOfNoCharge()
	for row := range v.menu.Charges {
		c, linked := &v.menu.Charges[row], v.to[ChargeItem].of(row)
		if !c.Active || slices.Contains(decodeDocument[[]string](c.ExcludedPlatforms), v.platform.Name) {
			continue
		}
		items := v.itemRefIDs(linked)
		if c.AllItems {
			items = v.allOrRefIDs(others[c.ExclusionKey()])
		}
		if !c.AllItems && c.onEveryOrder(len(linked)) || len(items) > 0 {
			list = append(list, APICharge{Charge: *c, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b APICharge) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}
