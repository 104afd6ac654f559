package menu

import "slices"

// linkEnds are the two entities of a link.
type linkEnds struct{ from, to int64 }

// linkSet tracks the links of one relation while a request is planned, and computes the difference to the stored
// ones.
type linkSet struct {
	stored    map[linkEnds]int32 // stored positions
	current   map[linkEnds]int32 // current positions, of existing links only
	byFrom    map[int64][]int64
	next      map[int64]int32 // the next free position of an owner
	restarted map[int64]bool  // owners whose positions restart
	order     []linkEnds      // every link that ever existed
	byTo      map[int64][]int64
	touched   []linkEnds
}

func newLinkSet(links []Link, expect int) *linkSet {
	b := &linkSet{
		stored:    make(map[linkEnds]int32, len(links)),
		current:   make(map[linkEnds]int32, len(links)+expect),
		byFrom:    make(map[int64][]int64, expect),
		next:      make(map[int64]int32, expect),
		restarted: map[int64]bool{},
		order:     make([]linkEnds, 0, len(links)+expect),
	}
	for _, link := range links {
		at := linkEnds{link.From, link.To}
		if _, twice := b.stored[at]; twice {
			continue
		}
		b.stored[at] = link.Position
		b.link(at, link.Position)
	}
	return b
}

func (b *linkSet) link(at linkEnds, position int32) {
	b.current[at] = position
	b.next[at.from] = max(b.next[at.from], position+1)
	b.byFrom[at.from] = append(b.byFrom[at.from], at.to)
	b.order = append(b.order, at)
	if b.byTo != nil {
		b.byTo[at.to] = append(b.byTo[at.to], at.from)
	}
}

// add links an owner to those entities that it is not linked to yet. A link that this request removed gets its old
// position back.
func (b *linkSet) add(from int64, to []int64) {
	for _, id := range to {
		at := linkEnds{from, id}
		if _, linked := b.current[at]; linked {
			continue
		}
		position, stored := b.stored[at]
		if !stored || b.restarted[from] {
			position = b.next[from]
		}
		b.link(at, position)
		b.touched = append(b.touched, at)
	}
}

// remove unlinks an owner from the matching entities.
func (b *linkSet) remove(from int64, gone func(to int64) bool) {
	b.byFrom[from] = slices.DeleteFunc(b.byFrom[from], func(to int64) bool {
		if !gone(to) {
			return false
		}
		delete(b.current, linkEnds{from, to})
		b.touched = append(b.touched, linkEnds{from, to})
		return true
	})
}

// clearFrom removes every link of an owner. Positions of new links restart.
func (b *linkSet) clearFrom(from int64) {
	for _, to := range b.byFrom[from] {
		delete(b.current, linkEnds{from, to})
		b.touched = append(b.touched, linkEnds{from, to})
	}
	delete(b.byFrom, from)
	delete(b.next, from)
	b.restarted[from] = true
}

// clearTo removes every link to an entity.
func (b *linkSet) clearTo(to int64) {
	if b.byTo == nil { // few requests need this index
		b.byTo = make(map[int64][]int64, len(b.order))
		for _, at := range b.order {
			b.byTo[at.to] = append(b.byTo[at.to], at.from)
		}
	}
	for _, from := range b.byTo[to] {
		b.remove(from, func(linked int64) bool { return linked == to })
	}
	delete(b.byTo, to)
}

// replace links an owner to exactly these entities, in their order.
func (b *linkSet) replace(from int64, to []int64) {
	b.clearFrom(from)
	b.add(from, to)
}

// containsAll reports whether an owner is linked to all of the entities.
func (b *linkSet) containsAll(from int64, to []int64) bool {
	for _, id := range to {
		if _, linked := b.current[linkEnds{from, id}]; !linked {
			return false
		}
	}
	return true
}

// of returns the entities that an owner is linked to.
func (b *linkSet) of(from int64) []int64 { return b.byFrom[from] }

// mark returns the current number of touched links; see differs.
func (b *linkSet) mark() int { return len(b.touched) }

// differs reports whether a link touched since the mark differs from its stored state.
func (b *linkSet) differs(since int) bool {
	return slices.ContainsFunc(b.touched[since:], func(at linkEnds) bool {
		was, stored := b.stored[at]
		is, linked := b.current[at]
		return stored != linked || was != is
	})
}

// diff returns the difference to the stored links, in the order in which they were touched.
func (b *linkSet) diff() LinkChange {
	var change LinkChange
	told := make(map[linkEnds]bool, len(b.touched))
	for _, at := range b.touched {
		if told[at] {
			continue
		}
		told[at] = true
		was, stored := b.stored[at]
		is, linked := b.current[at]
		switch {
		case linked && (!stored || was != is):
			change.Put = append(change.Put, Link{From: at.from, To: at.to, Position: is})
		case stored && !linked:
			change.Remove = append(change.Remove, Link{From: at.from, To: at.to, Position: was})
		}
	}
	return change
}
