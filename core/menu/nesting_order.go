package menu

import "slices"

// isAcyclic reports whether the option groups form no cycle once all options of the request are applied. Then their
// order does not matter. Otherwise it does, because an option may need links that a later one clears.
func (d *decider) isAcyclic() bool {
	var g groupGraph
	sent := make(map[int64]bool, len(d.request.Options))
	for i := range d.request.Options {
		o := &d.request.Options[i].Object
		at := d.options.byKey[*o.RefID]
		if at == nil && o.Title == nil {
			continue // it fails
		}
		groups, _ := d.groups.resolve(o.OptGrpRefIDs)
		nested, _ := d.groups.resolve(o.NestedOptGrps)
		if at != nil {
			id := at.record.ID
			sent[id] = true
			if !d.master || !o.ClearOptGrpRefIDs && !o.ClearOptGrps {
				groups = slices.Concat(d.links[OptionInGroup].of(id), groups)
			}
			if !d.master || !o.ClearNestedOptGrps {
				nested = slices.Concat(d.links[NestedGroup].of(id), nested)
			}
		}
		g.add(groups, nested)
	}
	for id := range d.nesting.options {
		if !sent[id] {
			g.add(d.links[OptionInGroup].of(id), d.links[NestedGroup].of(id))
		}
	}
	return g.acyclic()
}

// groupGraph is the graph from option groups to the options in them, and from options to their nested groups.
type groupGraph struct {
	options map[int64][]int // by group
	nested  [][]int64       // by option
	groups  []int           // by option: those that contain it and are not removed yet
	parents map[int64]int   // by group: the options that it is nested under and that are not removed yet
}

func (g *groupGraph) add(groups, nested []int64) {
	if len(groups) == 0 || len(nested) == 0 {
		return // the option connects no groups
	}
	if g.parents == nil {
		g.options, g.parents = map[int64][]int{}, map[int64]int{}
	}
	option := len(g.nested)
	g.nested, g.groups = append(g.nested, nested), append(g.groups, len(groups))
	for _, group := range groups {
		g.options[group] = append(g.options[group], option)
	}
	for _, group := range nested {
		g.parents[group]++
	}
}

// acyclic removes groups without parents, until no group is left or only cycles are (Kahn, 1962).
func (g *groupGraph) acyclic() bool {
	var free []int64
	left := len(g.nested)
	for group := range g.options {
		if g.parents[group] == 0 {
			free = append(free, group)
		}
	}
	for ; len(free) > 0; free = free[1:] {
		for _, option := range g.options[free[0]] {
			if g.groups[option]--; g.groups[option] > 0 {
				continue
			}
			left--
			for _, group := range g.nested[option] {
				if g.parents[group]--; g.parents[group] == 0 {
					free = append(free, group)
				}
			}
		}
	}
	return left == 0
}
