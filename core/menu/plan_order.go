package menu

import (
	"slices"
	"strings"
)

// categoryTree holds the categories of a request, with the parents that the request gives them.
type categoryTree struct {
	*decider
	indices map[string]int
	order   []int
	planned []bool
}

// categoryOrder returns the indices of the submitted categories in the order to plan them. A parent precedes its
// sub-categories. If a category becomes a sub-category, those that leave it precede it. It also finds the cycles.
func (d *decider) categoryOrder() []int {
	submitted := d.request.Categories
	t := &categoryTree{decider: d, indices: make(map[string]int, len(submitted)), planned: make([]bool, len(submitted))}
	for i := range submitted {
		t.indices[*submitted[i].Object.RefID] = i
	}
	d.cycles = t.cycles()
	for i := range submitted {
		t.plan(i)
	}
	return t.order
}

func (t *categoryTree) plan(i int) {
	if t.planned[i] {
		return
	}
	t.planned[i] = true
	if parent, listed := t.parent(i); listed {
		t.plan(parent)
	}
	leaving, _ := t.children(i)
	if valueOf(t.request.Categories[i].Object.ParentRefID) != "" {
		for _, child := range leaving {
			t.plan(child)
		}
	}
	t.order = append(t.order, i)
}

func (t *categoryTree) parent(i int) (index int, listed bool) {
	index, listed = t.indices[valueOf(t.request.Categories[i].Object.ParentRefID)]
	return index, listed
}

// children returns the stored sub-categories that get another parent, and whether there are others.
func (t *categoryTree) children(i int) (leaving []int, others bool) {
	refID := *t.request.Categories[i].Object.RefID
	stored := t.categories.byKey[refID]
	if stored == nil {
		return nil, false
	}
	for _, child := range t.decider.children[stored.record.ID] {
		at, listed := t.indices[child.record.RefID]
		if listed && t.request.Categories[at].Object.ParentRefID != nil &&
			*t.request.Categories[at].Object.ParentRefID != refID {
			leaving = append(leaving, at)
		} else {
			others = true
		}
	}
	return leaving, others
}

// cycles describes the cycle of each category that is in one, by ref_id. It omits categories that fail anyway.
func (t *categoryTree) cycles() map[string]string {
	cycles := map[string]string{}
	visitedBy := make([]int, len(t.planned)) // the walk that visited each category, from 1
	for start := range visitedBy {
		var path []int
		at, more := start, true
		for ; more && visitedBy[at] == 0; at, more = t.parent(at) {
			if _, others := t.children(at); others {
				more = false
				break
			}
			visitedBy[at] = start + 1
			path = append(path, at)
		}
		if !more || visitedBy[at] != start+1 {
			continue
		}
		path = path[slices.Index(path, at):]
		names := make([]string, len(path))
		for n, i := range path {
			names[n] = *t.request.Categories[i].Object.RefID
		}
		for n, name := range names {
			cycles[name] = describeCategoryCycle(append(slices.Concat(names[n:], names[:n]), name))
		}
	}
	return cycles
}

// describeCategoryCycle names the categories of a cycle.
func describeCategoryCycle(names []string) string {
	words := make([]string, 0, maxDescribed)
	for _, name := range names[:min(len(names), maxDescribed)] {
		words = append(words, quote(name))
	}
	if len(names) > maxDescribed {
		words = append(words, "…")
	}
	return strings.Join(words, " > ")
}

// allItemsFirst returns the indices of the submitted taxes or charges in the order to plan them. Those on all items
// come first, because those that name items take precedence over them.
func allItemsFirst[T any](submitted []Submitted[T], items func(*T) []string) []int {
	order := make([]int, len(submitted))
	for i := range order {
		order[i] = i
	}
	onAll := func(i int) int {
		if refs := items(&submitted[i].Object); len(refs) == 1 && refs[0] == AllItems {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return onAll(a) - onAll(b) })
	return order
}

// activations returns whether the stored taxes or charges that the request names will be active.
func activations[T, R any, P object[T]](records *recordSet[R], submitted []Submitted[T], sent func(*T) *bool,
	flush bool) map[*recordState[R]]bool {
	later := make(map[*recordState[R]]bool, len(submitted))
	for i := range submitted {
		o := &submitted[i].Object
		if s := records.byKey[P(o).identity()]; s != nil {
			active := records.ref(&s.record).Active
			if before, twice := later[s]; twice {
				active = before
			}
			activate(new(bool), &active, sent(o), flush)
			later[s] = active
		}
	}
	return later
}
