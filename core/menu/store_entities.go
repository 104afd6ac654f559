package menu

// storeEntities is the set of entities associated with one store.
type storeEntities struct {
	kinds   PerKind[map[int64]bool]
	items   map[int64]*ItemValues
	options map[int64]*OptionValues
}

func newStoreEntities(x *menuIndex) *storeEntities {
	m := x.menu
	p := &storeEntities{
		items:   make(map[int64]*ItemValues, len(m.Store.Items)),
		options: make(map[int64]*OptionValues, len(m.Store.Options)),
	}
	for kind := range p.kinds {
		p.kinds[kind] = map[int64]bool{}
	}
	for _, id := range m.Store.Categories {
		p.kinds[Categories][id] = true
	}
	for i := range m.Store.Items {
		at := &m.Store.Items[i]
		p.items[at.ID], p.kinds[Items][at.ID] = &at.Values, true
		for _, group := range x.from[GroupItem][at.ID] {
			p.kinds[OptionGroups][group] = true
		}
	}
	for i := range m.Store.Options {
		at := &m.Store.Options[i]
		p.options[at.ID], p.kinds[Options][at.ID] = &at.Values, true
		for _, relation := range []Relation{OptionInGroup, NestedGroup} {
			for _, group := range x.to[relation][at.ID] {
				p.kinds[OptionGroups][group] = true
			}
		}
	}
	for i := range m.Taxes {
		t := &m.Taxes[i]
		p.kinds[Taxes][t.ID] = t.AllItems || p.sellsAny(x.to[TaxItem][t.ID])
	}
	for i := range m.Charges {
		c := &m.Charges[i]
		p.kinds[Charges][c.ID] = c.AllItems || p.sellsAny(x.to[ChargeItem][c.ID]) ||
			c.onEveryOrder(len(x.to[ChargeItem][c.ID]))
	}
	return p
}

func (p *storeEntities) sellsAny(items []int64) bool {
	for _, id := range items {
		if p.items[id] != nil {
			return true
		}
	}
	return false
}
