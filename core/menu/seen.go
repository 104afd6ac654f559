package menu

import (
	"cmp"
	"slices"
	"strings"
)

// inOrder is those of the records that are in sight (all, where that is nil) as
// customers see them: by sort_order, then ref_id.
func inOrder[R any, P record[R]](records []R, inSight map[int64]bool, sortOrder func(P) int64) []P {
	list := make([]P, 0, len(records))
	for i := range records {
		if p := P(&records[i]); inSight == nil || inSight[p.ref().ID] {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b P) int {
		return cmp.Or(cmp.Compare(sortOrder(a), sortOrder(b)), strings.Compare(a.ref().RefID, b.ref().RefID))
	})
	return list
}

// seen is those of the entities that are in sight.
func seen(ids []int64, inSight map[int64]bool) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return !inSight[id] })
}

func (s *sight) seenCategories() []EffectiveCategory {
	records := inOrder(s.menu.Categories, s.categories, func(c *Category) int64 { return c.SortOrder })
	list := make([]EffectiveCategory, len(records))
	for i, c := range records {
		list[i] = EffectiveCategory{
			ID: c.ID, RefID: c.RefID, Name: c.Name, Description: c.Description, SortOrder: c.SortOrder,
			ImgURL: c.ImgURL, ParentRefID: s.names[Categories][c.ParentID], Translations: c.Translations,
		}
	}
	return list
}

func (s *sight) seenItems() []EffectiveItem {
	records := inOrder(s.menu.Items, s.items, func(i *Item) int64 { return s.presence.items[i.ID].SortOrder })
	list := make([]EffectiveItem, len(records))
	for i, item := range records {
		list[i] = s.seenItem(item)
	}
	return list
}

func (s *sight) seenItem(item *Item) EffectiveItem {
	here := s.presence.items[item.ID]
	e := EffectiveItem{
		ID: item.ID, RefID: item.RefID, Title: item.Title, Description: item.Description,
		Price: ResolvePrice(item, here, s.platform), Weight: item.Weight, Serves: item.Serves, FoodType: item.FoodType,
		SortOrder: here.SortOrder, Recommended: here.Recommended, CurrentStock: here.CurrentStock,
		FulfillmentModes: item.FulfillmentModes, ImgURL: s.image(item.Images, item.ImgURL), Tags: s.tags(item.Tags),
		Translations: item.Translations, KeyValueGroups: item.KeyValueGroups,
		CategoryRefIDs:    s.called(Categories, seen(s.to[ItemCategory][item.ID], s.categories)),
		OptionGroupRefIDs: s.ordered(s.from[GroupItem][item.ID]),
	}
	if here.MarkupPrice != nil && here.MarkupPrice.GreaterThan(e.Price.Decimal) {
		e.MarkupPrice = here.MarkupPrice
	}
	return e
}

func groupOrder(g *OptionGroup) int64 { return g.SortOrder }

// ordered is the groups in sight of the given ones, as customers see them.
func (s *sight) ordered(groups []int64) []string {
	ids := seen(groups, s.groups)
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(s.ranks[a], s.ranks[b]) })
	return s.called(OptionGroups, ids)
}

func (s *sight) seenGroups() []EffectiveOptionGroup {
	records := inOrder(s.menu.OptionGroups, s.groups, groupOrder)
	list := make([]EffectiveOptionGroup, len(records))
	for i, g := range records {
		list[i] = EffectiveOptionGroup{
			ID: g.ID, RefID: g.RefID, Title: g.Title, Description: g.Description,
			MinSelectable: g.MinSelectable, MaxSelectable: g.MaxSelectable, MultiOptionsEnabled: g.MultiOptionsEnabled,
			SortOrder: g.SortOrder, DisplayInline: g.DisplayInline, Translations: g.Translations,
		}
	}
	return list
}

func (s *sight) seenOptions() []EffectiveOption {
	records := inOrder(s.menu.Options, s.options, func(o *Option) int64 { return o.SortOrder })
	list := make([]EffectiveOption, len(records))
	for i, o := range records {
		list[i] = EffectiveOption{
			ID: o.ID, RefID: o.RefID, Title: o.Title, Description: o.Description, Price: s.presence.options[o.ID].Price,
			Weight: o.Weight, FoodType: o.FoodType, SortOrder: o.SortOrder, Recommended: o.Recommended,
			ImgURL: s.image(o.Images, o.ImgURL), Translations: o.Translations, KeyValueGroups: o.KeyValueGroups,
			OptGrpRefIDs: s.ordered(s.to[OptionInGroup][o.ID]),
		}
		if nested := s.to[GroupUnderneath][o.ID]; len(nested) > 0 {
			list[i].NestedOptGrps = s.ordered(nested)
		}
	}
	return list
}

// seenTaxes are the active taxes with the items in sight on which they fall. An
// item has one rate of each code: one that names it goes before one for all.
func (s *sight) seenTaxes() []TaxReading {
	named := map[string]map[int64]bool{} // by code: the items that a rate names
	for i := range s.menu.Taxes {
		t := &s.menu.Taxes[i]
		if !t.Active {
			continue
		}
		if named[t.Code] == nil {
			named[t.Code] = map[int64]bool{}
		}
		for _, id := range s.to[TaxItem][t.ID] {
			if s.items[id] {
				named[t.Code][id] = true
			}
		}
	}
	list := []TaxReading{}
	for i := range s.menu.Taxes {
		t := &s.menu.Taxes[i]
		if !t.Active {
			continue
		}
		items := s.sorted(Items, seen(s.to[TaxItem][t.ID], s.items))
		if t.AllItems {
			items = s.allBut(named[t.Code])
		}
		if len(items) > 0 {
			list = append(list, TaxReading{Tax: *t, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b TaxReading) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// allBut is every item in sight that is not an exception; "all" without any.
func (s *sight) allBut(exceptions map[int64]bool) []string {
	if len(exceptions) == 0 {
		return []string{AllItems}
	}
	return s.sorted(Items, slices.DeleteFunc(keysOf(s.items), func(id int64) bool { return exceptions[id] }))
}

// seenCharges are the active charges that fall on an item in sight or on every
// order, unless the platform is excluded.
func (s *sight) seenCharges() []ChargeReading {
	list := []ChargeReading{}
	for i := range s.menu.Charges {
		c := &s.menu.Charges[i]
		if !c.Active || slices.Contains(read[[]string](c.ExcludedPlatforms), s.platform.Name) {
			continue
		}
		onEvery := c.onOrder() && len(s.to[ChargeItem][c.ID]) == 0
		items := s.sorted(Items, seen(s.to[ChargeItem][c.ID], s.items))
		if c.AllItems {
			items = []string{AllItems}
		}
		if onEvery || len(items) > 0 {
			list = append(list, ChargeReading{Charge: *c, ItemRefIDs: items})
		}
	}
	slices.SortFunc(list, func(a, b ChargeReading) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}
