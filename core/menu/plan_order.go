package menu

import (
	"slices"
	"strings"
)

// categoryTree is the categories of a request, with the parents that they are to have.
type categoryTree struct {
	*decider
	indices map[string]int
	order   []int
	planned []bool
}

// categoryOrder returns the indices of the submitted categories in the order to plan them. A parent comes before its
// sub-categories. Before a category that becomes a sub-category come those that leave it. It also finds the cycles.
func (d *decider) categoryOrder() []int {
	submitted := d.request.Categories
	h := &categoryTree{decider: d, indices: make(map[string]int, len(submitted)), planned: make([]bool, len(submitted))}
	for i := range submitted {
		h.indices[*submitted[i].Object.RefID] = i
	}
	d.cycles = h.cycles()
	for i := range submitted {
		h.plan(i)
	}
	return h.order
}

func (h *categoryTree) plan(i int) {
	if h.planned[i] {
		return
	}
	h.planned[i] = true
	if parent, listed := h.parent(i); listed {
		h.plan(parent)
	}
	leaving, _ := h.children(i)
	if valueOf(h.request.Categories[i].Object.ParentRefID) != "" {
		for _, child := range leaving {
			h.plan(child)
		}
	}
	h.order = append(h.order, i)
}

func (h *categoryTree) parent(i int) (index int, listed bool) {
	index, listed = h.indices[valueOf(h.request.Categories[i].Object.ParentRefID)]
	return index, listed
}

// children returns the stored sub-categories of a category that the request gives another parent, and whether there
// are others.
func (h *categoryTree) children(i int) (leaving []int, others bool) {
	refID := *h.request.Categories[i].Object.RefID
	stored := h.categories.byKey[refID]
	if stored == nil {
		return nil, false
	}
	for _, child := range h.decider.children[stored.record.ID] {
		at, listed := h.indices[child.record.RefID]
		if listed && h.request.Categories[at].Object.ParentRefID != nil &&
			*h.request.Categories[at].Object.ParentRefID != refID {
			leaving = append(leaving, at)
		} else {
			others = true
		}
	}
	return leaving, others
}

// cycles describes the cycle that a category is in, by ref_id. It leaves out categories that fail without it.
func (h *categoryTree) cycles() map[string]string {
	cycles := map[string]string{}
	walks := make([]int, len(h.planned)) // the walk that came along, from 1
	for start := range walks {
		var way []int
		at, more := start, true
		for ; more && walks[at] == 0; at, more = h.parent(at) {
			if _, keeps := h.children(at); keeps {
				more = false
				break
			}
			walks[at] = start + 1
			way = append(way, at)
		}
		if !more || walks[at] != start+1 {
			continue
		}
		way = way[slices.Index(way, at):]
		names := make([]string, len(way))
		for n, i := range way {
			names[n] = *h.request.Categories[i].Object.RefID
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

// taxOrder returns the indices of the submitted taxes in the order to plan them: first those on all items, which the
// lists of other rates then take precedence over.
func (d *decider) taxOrder() []int {
	order := make([]int, len(d.request.Taxes))
	for i := range order {
		order[i] = i
	}
	onAll := func(i int) int {
		if refs := d.request.Taxes[i].Object.ItemRefIDs; len(refs) == 1 && refs[0] == AllItems {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return onAll(a) - onAll(b) })
	return order
}

// activations returns whether the stored taxes that the request names will be active.
func (d *decider) activations() map[*recordState[Tax]]bool {
	later := make(map[*recordState[Tax]]bool, len(d.request.Taxes))
	for i := range d.request.Taxes {
		o := &d.request.Taxes[i].Object
		if s := d.taxes.byKey[o.identity()]; s != nil {
			active := s.record.Active
			activate(new(bool), &active, o.Active, d.flush[Taxes])
			later[s] = active
		}
	}
	return later
}
