package menu

import "slices"

// taxRates enforces that an item has one rate of each tax code, the latest. It tracks which rates name which items, and
// which apply to all of them.
type taxRates struct {
	taxes        *recordSet[Tax]
	codes        map[string]*codeRates
	willBeActive map[*recordState[Tax]]bool // whether a stored rate will be active, if the request names it
}

// codeRates are the rates of one code. A rate on all items stays so if a later one names some of them.
type codeRates struct {
	allItems  *recordState[Tax]
	byItem    map[int64]*recordState[Tax]
	itemRates []*recordState[Tax] // the rates that name or named items
}

func newTaxRates(taxes *recordSet[Tax], links []Link, later map[*recordState[Tax]]bool) *taxRates {
	r := &taxRates{taxes: taxes, codes: map[string]*codeRates{}, willBeActive: later}
	byID := make(map[int64]*recordState[Tax], len(taxes.stored))
	for _, s := range taxes.stored {
		byID[s.record.ID] = s
		code := r.of(s)
		code.itemRates = append(code.itemRates, s)
		if s.record.AllItems {
			code.allItems = s
		}
	}
	for _, link := range links {
		if s := byID[link.From]; s != nil {
			r.of(s).byItem[link.To] = s
		}
	}
	return r
}

func (r *taxRates) of(s *recordState[Tax]) *codeRates {
	code := r.codes[s.record.Code]
	if code == nil {
		code = &codeRates{byItem: map[int64]*recordState[Tax]{}}
		r.codes[s.record.Code] = code
	}
	return code
}

// assign changes the items of a rate, and removes those that it gains from the other rates of its code. An inactive
// rate removes nothing from an active one. It then returns that rate as blocking, and otherwise nil.
func (r *taxRates) assign(links *linkSet, s *recordState[Tax], sent itemAssignment) (blocking *recordState[Tax]) {
	code := r.of(s)
	if !s.record.Active {
		sent, blocking = r.withoutActive(code, sent)
	}
	if sent.clear || sent.all {
		for _, item := range links.of(s.record.ID) {
			delete(code.byItem, item)
		}
		if code.allItems == s {
			code.allItems = nil
		}
	}
	if sent.all {
		r.clearAll(links, code, s.record.Active)
	}
	code.removeFromOthers(links, s, sent.items)
	s.changed = sent.apply(links, s.record.ID, &s.record.AllItems) || s.changed
	if s.record.AllItems {
		code.allItems = s
		return blocking
	}
	for _, item := range sent.items {
		code.byItem[item] = s
	}
	code.itemRates = append(code.itemRates, s)
	return blocking
}

// withoutActive removes the items of active rates from an assignment. It returns such a rate as blocking, or nil.
func (r *taxRates) withoutActive(c *codeRates, sent itemAssignment) (rest itemAssignment, blocking *recordState[Tax]) {
	if sent.all && r.isActive(c.allItems) {
		sent.all, blocking = false, c.allItems
	}
	sent.items = slices.DeleteFunc(sent.items, func(item int64) bool {
		owner := c.byItem[item]
		if !r.isActive(owner) {
			return false
		}
		blocking = owner
		return true
	})
	return sent, blocking
}

func (r *taxRates) isActive(s *recordState[Tax]) bool {
	if s == nil {
		return false
	}
	if active, named := r.willBeActive[s]; named {
		return active
	}
	return s.record.Active
}

// removeFromOthers removes the items from the other rates that name them.
func (c *codeRates) removeFromOthers(links *linkSet, by *recordState[Tax], items []int64) {
	taken := make(map[int64]bool, len(items))
	seen := map[*recordState[Tax]]bool{by: true}
	var owners []*recordState[Tax]
	for _, item := range items {
		taken[item] = true
		owner := c.byItem[item]
		delete(c.byItem, item)
		if owner != nil && !seen[owner] {
			seen[owner] = true
			owners = append(owners, owner)
		}
	}
	for _, owner := range owners {
		links.remove(owner.record.ID, func(id int64) bool { return taken[id] })
	}
}

// clearAll removes all items from the rates of a code. Unless active is set, it skips active rates.
func (r *taxRates) clearAll(links *linkSet, code *codeRates, active bool) {
	code.itemRates = slices.DeleteFunc(code.itemRates, func(s *recordState[Tax]) bool {
		if r.isActive(s) && !active {
			return false
		}
		for _, item := range links.of(s.record.ID) {
			delete(code.byItem, item)
		}
		links.clearFrom(s.record.ID)
		return true
	})
	if other := code.allItems; other != nil {
		other.record.AllItems, other.changed = false, true
		r.taxes.markTouched(other)
	}
}
