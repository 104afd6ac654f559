package menu

import "slices"

// rates enforces that an item has one rate of each tax code, the latest (contract, Menu). It tracks which rates name
// which items, and which apply to all of them.
type rates struct {
	taxes *shelf[Tax]
	codes map[string]*codeRates
	later map[*slot[Tax]]bool // whether a stored rate will be active, if the request names it
}

// codeRates are the rates of one code. A rate on all items stays so if a later one names some of them.
type codeRates struct {
	onAll  *slot[Tax]
	named  map[int64]*slot[Tax] // by item
	naming []*slot[Tax]         // the rates that name or named items
}

func newRates(taxes *shelf[Tax], links []Link, later map[*slot[Tax]]bool) *rates {
	r := &rates{taxes: taxes, codes: map[string]*codeRates{}, later: later}
	byID := make(map[int64]*slot[Tax], len(taxes.stored))
	for _, s := range taxes.stored {
		byID[s.record.ID] = s
		code := r.of(s)
		code.naming = append(code.naming, s)
		if s.record.AllItems {
			code.onAll = s
		}
	}
	for _, link := range links {
		if s := byID[link.From]; s != nil {
			r.of(s).named[link.To] = s
		}
	}
	return r
}

func (r *rates) of(s *slot[Tax]) *codeRates {
	code := r.codes[s.record.Code]
	if code == nil {
		code = &codeRates{named: map[int64]*slot[Tax]{}}
		r.codes[s.record.Code] = code
	}
	return code
}

// give changes the items of a rate, and removes those that it gains from the other rates of its code. An inactive rate
// removes nothing from an active one. That active rate is then returned as kept, otherwise nil.
func (r *rates) give(book *linkBook, s *slot[Tax], sent appliesTo) (kept *slot[Tax]) {
	code := r.of(s)
	if !s.record.Active {
		sent, kept = r.withoutLevied(code, sent)
	}
	if sent.clear || sent.all {
		for _, item := range book.of(s.record.ID) {
			delete(code.named, item)
		}
		if code.onAll == s {
			code.onAll = nil
		}
	}
	if sent.all {
		r.empty(book, code, s.record.Active)
	}
	code.take(book, s, sent.items)
	s.changed = sent.apply(book, s.record.ID, &s.record.AllItems) || s.changed
	if s.record.AllItems {
		code.onAll = s
		return kept
	}
	for _, item := range sent.items {
		code.named[item] = s
	}
	code.naming = append(code.naming, s)
	return kept
}

// withoutLevied leaves out what an active rate applies to. That rate is returned.
func (r *rates) withoutLevied(c *codeRates, sent appliesTo) (left appliesTo, kept *slot[Tax]) {
	if sent.all && r.levied(c.onAll) {
		sent.all, kept = false, c.onAll
	}
	sent.items = slices.DeleteFunc(sent.items, func(item int64) bool {
		owner := c.named[item]
		if !r.levied(owner) {
			return false
		}
		kept = owner
		return true
	})
	return sent, kept
}

func (r *rates) levied(s *slot[Tax]) bool {
	if s == nil {
		return false
	}
	if active, named := r.later[s]; named {
		return active
	}
	return s.record.Active
}

// take removes the items from the other rates that name them.
func (c *codeRates) take(book *linkBook, by *slot[Tax], items []int64) {
	taken := make(map[int64]bool, len(items))
	asked := map[*slot[Tax]]bool{by: true}
	var owners []*slot[Tax]
	for _, item := range items {
		taken[item] = true
		owner := c.named[item]
		delete(c.named, item)
		if owner != nil && !asked[owner] {
			asked[owner] = true
			owners = append(owners, owner)
		}
	}
	for _, owner := range owners {
		book.remove(owner.record.ID, func(id int64) bool { return taken[id] })
	}
}

// empty removes all items from the rates of a code. Unless active is set, it skips active rates.
func (r *rates) empty(book *linkBook, code *codeRates, active bool) {
	code.naming = slices.DeleteFunc(code.naming, func(s *slot[Tax]) bool {
		if r.levied(s) && !active {
			return false
		}
		for _, item := range book.of(s.record.ID) {
			delete(code.named, item)
		}
		book.clearFrom(s.record.ID)
		return true
	})
	if other := code.onAll; other != nil {
		other.record.AllItems, other.changed = false, true
		r.taxes.touch(other)
	}
}
