package menu

import "slices"

// rateSet enforces that an item has one tax of each code and one charge of each exclusion key, the latest. It tracks
// which rates name which items, and which apply to all of them.
type rateSet[R any] struct {
	rateKind[R]
	records      *recordSet[R]
	links        *linkSet
	keys         map[string]*keyRates[R]
	willBeActive map[*recordState[R]]bool // whether a stored rate will be active, if the request names it
	active       int                      // stored rates that will be active, and new ones so far
	counted      map[*recordState[R]]bool // the new ones
}

// maxActiveRates bounds the active taxes of a business, and its active charges, because each order is compared with all
// of them.
const maxActiveRates = 1000

// rateKind describes taxes or charges.
type rateKind[R any] struct {
	exclusionKey func(*R) string
	allItems     func(*R) *bool
	lostItems    func(r *R, items int) (changed bool) // called when a rate has lost items to another; may be nil
}

// keyRates are the rates of one exclusion key. A rate on all items stays so if a later one names some of them. Charges
// that an earlier release stored can share an item.
type keyRates[R any] struct {
	allItems  []*recordState[R]
	byItem    map[int64][]*recordState[R]
	itemRates []*recordState[R] // the rates that name or named items
}

func newRateSet[R any](kind rateKind[R], records *recordSet[R], links *linkSet,
	later map[*recordState[R]]bool, flush bool) *rateSet[R] {
	r := &rateSet[R]{rateKind: kind, records: records, links: links, keys: map[string]*keyRates[R]{},
		willBeActive: later, counted: map[*recordState[R]]bool{}}
	for _, s := range records.stored {
		r.enter(r.of(s), s)
		if _, named := later[s]; r.isActive(s) && (named || !flush) {
			r.active++
		}
	}
	return r
}

// admit reports whether a rate may become active, given the active field that was sent.
func (r *rateSet[R]) admit(s *recordState[R], sent *bool) bool {
	if s.isNew {
		if sent != nil && !*sent || r.counted[s] {
			return true
		}
		if r.active >= maxActiveRates {
			return false
		}
		r.counted[s] = true
		r.active++
		return true
	}
	if r.records.ref(&s.record).Active || !r.willBeActive[s] || r.active <= maxActiveRates {
		return true
	}
	delete(r.willBeActive, s)
	r.active--
	return false
}

// tooManyActive is the problem of a tax or charge that is not admitted.
func tooManyActive(kind Kind) objectResult {
	return failed("a business can have at most %d active %s: deactivate others first", maxActiveRates, kind)
}

func (r *rateSet[R]) of(s *recordState[R]) *keyRates[R] {
	name := r.exclusionKey(&s.record)
	key := r.keys[name]
	if key == nil {
		key = &keyRates[R]{byItem: map[int64][]*recordState[R]{}}
		r.keys[name] = key
	}
	return key
}

func (r *rateSet[R]) id(s *recordState[R]) int64 { return r.records.ref(&s.record).ID }

// enter adds a rate with its present items.
func (r *rateSet[R]) enter(key *keyRates[R], s *recordState[R]) {
	key.itemRates = append(key.itemRates, s)
	if *r.allItems(&s.record) {
		key.allItems = append(key.allItems, s)
	}
	for _, item := range r.links.of(r.id(s)) {
		key.byItem[item] = append(key.byItem[item], s)
	}
}

// forgetItems removes a rate from those that have its present items.
func (r *rateSet[R]) forgetItems(key *keyRates[R], s *recordState[R]) {
	same := func(other *recordState[R]) bool { return other == s }
	for _, item := range r.links.of(r.id(s)) {
		key.byItem[item] = slices.DeleteFunc(key.byItem[item], same)
	}
	key.allItems = slices.DeleteFunc(key.allItems, same)
}

// apply changes a rate by a function, and returns the assignment to make. If the exclusion key changes, the rate gains
// its items again. The assignment then has these as well.
func (r *rateSet[R]) apply(s *recordState[R], sent itemAssignment, change func()) itemAssignment {
	before := r.of(s)
	change()
	if s.isNew || before == r.of(s) {
		return sent
	}
	r.forgetItems(before, s)
	before.itemRates = slices.DeleteFunc(before.itemRates, func(other *recordState[R]) bool { return other == s })
	if !sent.clear {
		sent.clear, sent.all = true, sent.all || *r.allItems(&s.record)
		sent.items = slices.Concat(r.links.of(r.id(s)), sent.items)
	}
	return sent
}

// assign changes the items of a rate, and removes those that it gains from the other rates of its exclusion key. An
// inactive rate removes nothing from an active one. It then returns that rate as blocking, and otherwise nil.
func (r *rateSet[R]) assign(s *recordState[R], sent itemAssignment) (blocking *recordState[R]) {
	key := r.of(s)
	active := r.records.ref(&s.record).Active
	if !active {
		sent, blocking = r.withoutActive(key, sent)
	}
	if sent.clear || sent.all {
		r.forgetItems(key, s)
	}
	if sent.all {
		r.clearAll(key, s, active)
	}
	r.removeFromOthers(key, s, sent.items)
	s.changed = sent.apply(r.links, r.id(s), r.allItems(&s.record)) || s.changed
	if *r.allItems(&s.record) {
		if !slices.Contains(key.allItems, s) {
			key.allItems = append(key.allItems, s)
		}
		return blocking
	}
	for _, item := range sent.items {
		key.byItem[item] = append(key.byItem[item], s)
	}
	key.itemRates = append(key.itemRates, s)
	return blocking
}

// withoutActive removes the items of active rates from an assignment. It returns such a rate as blocking, or nil.
func (r *rateSet[R]) withoutActive(key *keyRates[R],
	sent itemAssignment) (rest itemAssignment, blocking *recordState[R]) {
	firstActive := func(list []*recordState[R]) *recordState[R] {
		if at := slices.IndexFunc(list, r.isActive); at >= 0 {
			return list[at]
		}
		return nil
	}
	if owner := firstActive(key.allItems); sent.all && owner != nil {
		sent.all, blocking = false, owner
	}
	sent.items = slices.DeleteFunc(sent.items, func(item int64) bool {
		owner := firstActive(key.byItem[item])
		if owner != nil {
			blocking = owner
		}
		return owner != nil
	})
	return sent, blocking
}

func (r *rateSet[R]) isActive(s *recordState[R]) bool {
	if active, named := r.willBeActive[s]; named {
		return active
	}
	return r.records.ref(&s.record).Active
}

// removeFromOthers removes the items from the other rates that name them.
func (r *rateSet[R]) removeFromOthers(key *keyRates[R], by *recordState[R], items []int64) {
	taken := make(map[int64]bool, len(items))
	seen := map[*recordState[R]]bool{by: true}
	var owners []*recordState[R]
	for _, item := range items {
		taken[item] = true
		for _, owner := range key.byItem[item] {
			if !seen[owner] {
				seen[owner] = true
				owners = append(owners, owner)
			}
		}
		delete(key.byItem, item)
	}
	for _, owner := range owners {
		r.links.remove(r.id(owner), func(id int64) bool { return taken[id] })
		r.noteLoss(owner)
	}
}

// clearAll removes all items from the rates of a key, because another one has them. Unless active is set, it skips
// active rates.
func (r *rateSet[R]) clearAll(key *keyRates[R], by *recordState[R], active bool) {
	key.itemRates = slices.DeleteFunc(key.itemRates, func(s *recordState[R]) bool {
		if r.isActive(s) && !active {
			return false
		}
		id := r.id(s)
		lost := len(r.links.of(id)) > 0
		for _, item := range r.links.of(id) {
			key.byItem[item] = slices.DeleteFunc(key.byItem[item],
				func(other *recordState[R]) bool { return other == s })
		}
		r.links.clearFrom(id)
		if lost && s != by {
			r.noteLoss(s)
		}
		return true
	})
	for _, other := range key.allItems {
		*r.allItems(&other.record), other.changed = false, true
		r.records.markTouched(other)
		r.noteLoss(other)
	}
	key.allItems = nil
}

// noteLoss updates a rate that has lost items to another.
func (r *rateSet[R]) noteLoss(s *recordState[R]) {
	if r.lostItems != nil && r.lostItems(&s.record, len(r.links.of(r.id(s)))) {
		s.changed = true
		r.records.markTouched(s)
	}
}
