package menu

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// sortedRows returns the rows of the visible records (all if inSight is nil) in the order that customers see: by
// sort_order, then ref_id.
func sortedRows[R any, P record[R]](records []R, inSight []bool, sortOrder func(row int32) int64) []int32 {
	type place struct {
		sortOrder int64
		refID     string
		row       int32
	}
	places := make([]place, 0, len(records))
	for i := range records {
		if inSight == nil || inSight[i] {
			places = append(places, place{sortOrder(int32(i)), P(&records[i]).ref().RefID, int32(i)})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.sortOrder != b.sortOrder {
			return cmp.Compare(a.sortOrder, b.sortOrder)
		}
		return strings.Compare(a.refID, b.refID)
	})
	list := make([]int32, len(places))
	for i := range places {
		list[i] = places[i].row
	}
	return list
}

// visibleRefIDs returns the ref_ids of the visible rows, in the given order. It is never nil, so that an entity without
// associations shows an empty list.
func visibleRefIDs[R any, P record[R]](s *visibility, records []R, rows []int32, inSight []bool) []string {
	begin := len(s.refIDs)
	for _, row := range rows {
		if inSight[row] {
			s.refIDs = append(s.refIDs, P(&records[row]).ref().RefID)
		}
	}
	return s.refIDs[begin:len(s.refIDs):len(s.refIDs)]
}

// groupRefIDs returns the visible groups of those given, in the order that customers see.
func (s *visibility) groupRefIDs(groups []int32) []string {
	if len(groups) > 1 {
		s.sortBuffer = append(s.sortBuffer[:0], groups...)
		groups = s.sortBuffer
		slices.SortFunc(groups, func(a, b int32) int { return cmp.Compare(s.groupRank[a], s.groupRank[b]) })
	}
	return visibleRefIDs(s, s.menu.OptionGroups, groups, s.groups)
}

// itemRefIDs returns the visible items of those given, by ref_id.
func (s *visibility) itemRefIDs(items []int32) []string {
	list := visibleRefIDs(s, s.menu.Items, items, s.items)
	slices.Sort(list)
	return list
}

func (s *visibility) visibleCategories() []EffectiveCategory {
	rows := sortedRows(s.menu.Categories, s.categories, func(row int32) int64 { return s.menu.Categories[row].SortOrder })
	list := make([]EffectiveCategory, len(rows))
	timed := s.menu.Timings.byCategory()
	for i, row := range rows {
		c := &s.menu.Categories[row]
		list[i] = EffectiveCategory{
			ID: c.ID, RefID: c.RefID, Name: c.Name, Description: c.Description, SortOrder: c.SortOrder,
			ImgURL: c.ImgURL, Translations: c.Translations,
		}
		if c.ParentID != 0 {
			list[i].ParentRefID = s.menu.Categories[s.rows[Categories].of(c.ParentID)].RefID // an open parent exists
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

func (s *visibility) visibleItems() []EffectiveItem {
	rows := sortedRows(s.menu.Items, s.items, func(row int32) int64 { return s.storeItems[row].SortOrder })
	list := make([]EffectiveItem, len(rows))
	for i, row := range rows {
		list[i] = s.visibleItem(int(row))
	}
	return list
}

func (s *visibility) visibleItem(row int) EffectiveItem {
	item, here := &s.menu.Items[row], s.storeItems[row]
	e := EffectiveItem{
		ID: item.ID, RefID: item.RefID, Title: item.Title, Description: item.Description,
		Price: ResolvePrice(item, here, s.platform), Weight: item.Weight, Serves: item.Serves, FoodType: item.FoodType,
		SortOrder: here.SortOrder, Recommended: here.Recommended, CurrentStock: here.CurrentStock,
		FulfillmentModes: item.FulfillmentModes, ImgURL: s.image(item.Images, item.ImgURL),
		Tags:         item.TagsOn(s.platform.Name),
		Translations: item.Translations, KeyValueGroups: item.KeyValueGroups,
		CategoryRefIDs:    visibleRefIDs(s, s.menu.Categories, s.to[ItemCategory].of(row), s.categories),
		OptionGroupRefIDs: s.groupRefIDs(s.from[GroupItem].of(row)),
	}
	if here.MarkupPrice != nil && here.MarkupPrice.GreaterThan(e.Price.Decimal) {
		e.MarkupPrice = here.MarkupPrice
	}
	return e
}

func (s *visibility) visibleGroups() []EffectiveOptionGroup {
	list := make([]EffectiveOptionGroup, 0, len(s.groupOrder))
	for _, row := range s.groupOrder {
		if g := &s.menu.OptionGroups[row]; s.groups[row] {
			list = append(list, EffectiveOptionGroup{
				ID: g.ID, RefID: g.RefID, Title: g.Title, Description: g.Description,
				MinSelectable: g.MinSelectable, MaxSelectable: g.MaxSelectable,
				MultiOptionsEnabled: g.MultiOptionsEnabled,
				SortOrder:           g.SortOrder, DisplayInline: g.DisplayInline, Translations: g.Translations,
			})
		}
	}
	return list
}

func (s *visibility) visibleOptions() []EffectiveOption {
	rows := sortedRows(s.menu.Options, s.options, func(row int32) int64 { return s.menu.Options[row].SortOrder })
	list := make([]EffectiveOption, len(rows))
	for i, row := range rows {
		o := &s.menu.Options[row]
		list[i] = EffectiveOption{
			ID: o.ID, RefID: o.RefID, Title: o.Title, Description: o.Description, Price: s.storeOptions[row].Price,
			Weight: o.Weight, FoodType: o.FoodType, SortOrder: o.SortOrder, Recommended: o.Recommended,
			ImgURL: s.image(o.Images, o.ImgURL), Translations: o.Translations, KeyValueGroups: o.KeyValueGroups,
			OptGrpRefIDs: s.groupRefIDs(s.to[OptionInGroup].of(int(row))),
		}
		if nested := s.to[NestedGroup].of(int(row)); len(nested) > 0 {
			list[i].NestedOptGrps = s.groupRefIDs(nested)
		}
	}
	return list
}

// visibleTaxes returns the active taxes with the visible items that they apply to. An item has one rate of each code:
// one that names it takes precedence over one for all.
func (s *visibility) visibleTaxes() []APITax {
	others := map[string][]bool{} // by code: the visible items that no rate names
	for row := range s.menu.Taxes {
		if t := &s.menu.Taxes[row]; t.Active {
			if others[t.Code] == nil {
				others[t.Code] = slices.Clone(s.items)
			}
			for _, item := range s.to[TaxItem].of(row) {
				others[t.Code][item] = false
			}
		}
	}
	list := []APITax{}
	for row := range s.menu.Taxes {
		t := &s.menu.Taxes[row]
		if !t.Active {
			continue
		}
		items := s.itemRefIDs(s.to[TaxItem].of(row))
		if t.AllItems {
			items = s.allOrRefIDs(others[t.Code])
		}
		if len(items) > 0 {
			list = append(list, APITax{Tax: *t, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b APITax) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// allOrRefIDs returns "all" if the set contains every visible item, and otherwise the items in it.
func (s *visibility) allOrRefIDs(set []bool) []string {
	if slices.Equal(set, s.items) {
		return []string{AllItems}
	}
	list := []string{}
	for row := range s.menu.Items {
		if set[row] {
			list = append(list, s.menu.Items[row].RefID)
		}
	}
	slices.Sort(list)
	return list
}

// visibleCharges returns the active charges on a visible item or on every order, unless the platform is excluded.
func (s *visibility) visibleCharges() []APICharge {
	list := []APICharge{}
	for row := range s.menu.Charges {
		c, linked := &s.menu.Charges[row], s.to[ChargeItem].of(row)
		if !c.Active || slices.Contains(decodeDocument[[]string](c.ExcludedPlatforms), s.platform.Name) {
			continue
		}
		items := s.itemRefIDs(linked)
		if c.AllItems {
			items = []string{AllItems}
		}
		if c.onEveryOrder(len(linked)) || len(items) > 0 {
			list = append(list, APICharge{Charge: *c, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b APICharge) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}
