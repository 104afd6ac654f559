package menu

import "slices"

// rates keeps the rule that an item has one rate of each tax code, the latest
// (contract, Menu): who names which item, and who falls on all of them.
type rates struct {
	taxes *shelf[Tax]
	codes map[string]*codeRates
}

// codeRates are the rates of one code. A rate that falls on all items keeps
// doing so where a later one names some of them.
type codeRates struct {
	onAll  *slot[Tax]
	named  map[int64]*slot[Tax] // by item
	naming []*slot[Tax]         // the rates that name items, or did
}

func newRates(taxes *shelf[Tax], links []Link) *rates {
	r := &rates{taxes: taxes, codes: map[string]*codeRates{}}
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

// give puts a rate on all items, or on those listed and no others, and takes
// them from the other rates of its code. One that is not active takes nothing
// from one that is: kept is such a rate, nil where there was none.
func (r *rates) give(book *linkBook, s *slot[Tax], all bool, items []int64) (kept *slot[Tax]) {
	code := r.of(s)
	for _, item := range book.of(s.record.ID) {
		delete(code.named, item)
	}
	if code.onAll == s {
		code.onAll = nil
	}
	if !s.record.Active {
		if all && levied(code.onAll) {
			all, kept = false, code.onAll
		}
		items = slices.DeleteFunc(items, func(item int64) bool {
			owner := code.named[item]
			if !levied(owner) {
				return false
			}
			kept = owner
			return true
		})
	}
	if all {
		r.empty(book, code, s.record.Active)
		code.onAll = s
	}
	code.take(book, items)
	for _, item := range items {
		code.named[item] = s
	}
	code.naming = append(code.naming, s)
	book.replace(s.record.ID, items)
	set(&s.changed, &s.record.AllItems, &all)
	return kept
}

func levied(s *slot[Tax]) bool { return s != nil && s.record.Active }

// take takes the items from the rates that name them.
func (c *codeRates) take(book *linkBook, items []int64) {
	taken := make(map[int64]bool, len(items))
	asked := map[*slot[Tax]]bool{}
	var owners []*slot[Tax]
	for _, item := range items {
		taken[item] = true
		if owner := c.named[item]; owner != nil && !asked[owner] {
			asked[owner] = true
			owners = append(owners, owner)
		}
	}
	for _, owner := range owners {
		book.remove(owner.record.ID, func(id int64) bool { return taken[id] })
	}
}

// empty takes every item from every rate of a code, or from those that are not active.
func (r *rates) empty(book *linkBook, code *codeRates, active bool) {
	code.naming = slices.DeleteFunc(code.naming, func(s *slot[Tax]) bool {
		if levied(s) && !active {
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
