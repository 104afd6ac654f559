package menu

import "slices"

// linkEnds are the two entities of a link.
type linkEnds struct{ from, to int64 }

// linkSet tracks the links of one relation while a request is planned, and computes the difference to the stored ones.
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
	l := &linkSet{
		stored:    make(map[linkEnds]int32, len(links)),
		current:   make(map[linkEnds]int32, len(links)+expect),
		byFrom:    make(map[int64][]int64, expect),
		next:      make(map[int64]int32, expect),
		restarted: map[int64]bool{},
		order:     make([]linkEnds, 0, len(links)+expect),
	}
	for _, link := range links {
		at := linkEnds{link.From, link.To}
		if _, twice := l.stored[at]; twice {
			continue
		}
		l.stored[at] = link.Position
		l.link(at, link.Position)
	}
	return l
}

func (l *linkSet) link(at linkEnds, position int32) {
	l.current[at] = position
	l.next[at.from] = max(l.next[at.from], position+1)
	l.byFrom[at.from] = append(l.byFrom[at.from], at.to)
	l.order = append(l.order, at)
	if l.byTo != nil {
		l.byTo[at.to] = append(l.byTo[at.to], at.from)
	}
}

// add links an owner to those entities that it is not linked to yet. A link that this request removed gets its old
// position back.
func (l *linkSet) add(from int64, to []int64) {
	for _, id := range to {
		at := linkEnds{from, id}
		if _, linked := l.current[at]; linked {
			continue
		}
		position, stored := l.stored[at]
		if !stored || l.restarted[from] {
			position = l.next[from]
		}
		l.link(at, position)
		l.touched = append(l.touched, at)
	}
}

// remove unlinks an owner from the matching entities.
func (l *linkSet) remove(from int64, gone func(to int64) bool) {
	l.byFrom[from] = slices.DeleteFunc(l.byFrom[from], func(to int64) bool {
		if !gone(to) {
			return false
		}
		delete(l.current, linkEnds{from, to})
		l.touched = append(l.touched, linkEnds{from, to})
		return true
	})
}

// clearFrom removes every link of an owner. Positions of new links restart.
func (l *linkSet) clearFrom(from int64) {
	for _, to := range l.byFrom[from] {
		delete(l.current, linkEnds{from, to})
		l.touched = append(l.touched, linkEnds{from, to})
	}
	delete(l.byFrom, from)
	delete(l.next, from)
	l.restarted[from] = true
}

// clearTo removes every link to an entity.
func (l *linkSet) clearTo(to int64) {
	if l.byTo == nil { // few requests need this index
		l.byTo = make(map[int64][]int64, len(l.order))
		for _, at := range l.order {
			l.byTo[at.to] = append(l.byTo[at.to], at.from)
		}
	}
	for _, from := range l.byTo[to] {
		l.remove(from, func(linked int64) bool { return linked == to })
	}
	delete(l.byTo, to)
}

// replace links an owner to exactly these entities, in their order.
func (l *linkSet) replace(from int64, to []int64) {
	l.clearFrom(from)
	l.add(from, to)
}

// containsAll reports whether an owner is linked to all of the entities.
func (l *linkSet) containsAll(from int64, to []int64) bool {
	for _, id := range to {
		if _, linked := l.current[linkEnds{from, id}]; !linked {
			return false
		}
	}
	return true
}

// of returns the entities that an owner is linked to.
func (l *linkSet) of(from int64) []int64 { return l.byFrom[from] }

// mark returns the current number of touched links; see differs.
func (l *linkSet) mark() int { return len(l.touched) }

// differs reports whether a link touched since the mark differs from its stored state.
func (l *linkSet) differs(since int) bool {
	return slices.ContainsFunc(l.touched[since:], func(at linkEnds) bool {
		was, stored := l.stored[at]
		is, linked := l.current[at]
		return stored != linked || was != is
	})
}

// diff returns the difference to the stored links, in the order in which they were touched.
func (l *linkSet) diff() LinkChange {
	var change LinkChange
	seen := make(map[linkEnds]bool, len(l.touched))
	for _, at := range l.touched {
		if seen[at] {
			continue
		}
		seen[at] = true
		was, stored := l.stored[at]
		is, linked := l.current[at]
		switch {
		case linked && (!stored || was != is):
			change.Put = append(change.Put, Link{From: at.from, To: at.to, Position: is})
		case stored && !linked:
			change.Remove = append(change.Remove, Link{From: at.from, To: at.to, Position: was})
		}
	}
	return change
}
