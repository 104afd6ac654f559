package menu

import (
	"slices"
	"strings"
)

// nestingGraph is the graph of nested option groups. An option with nested groups is an edge from each group that
// contains it to each of its nested groups. The graph never has a cycle.
type nestingGraph struct {
	inGroups, nestedGroups *linkSet
	options                map[int64]*recordState[Option] // options that have or had nested groups
	optionsByGroup         map[int64][]int64              // by group: those that it contains or contained
	nested                 map[int64]bool                 // the groups that are or were nested under an option
	steps                  int                            // how many links may still be visited
	acyclic                bool                           // the whole request creates no cycle
}

// maxSteps bounds the links that the search for cycles of one request visits. That takes a fraction of a second.
const maxSteps = 1_000_000

func newNestingGraph(inGroups, underneath *linkSet, options []*recordState[Option]) *nestingGraph {
	n := &nestingGraph{
		inGroups: inGroups, nestedGroups: underneath, steps: maxSteps,
		options: map[int64]*recordState[Option]{}, optionsByGroup: map[int64][]int64{}, nested: map[int64]bool{},
	}
	for _, option := range options {
		n.update(option)
	}
	return n
}

// update records the groups of an option.
func (n *nestingGraph) update(option *recordState[Option]) {
	id := option.record.ID
	nested := n.nestedGroups.of(id)
	if len(nested) == 0 {
		return
	}
	n.options[id] = option
	for _, group := range n.inGroups.of(id) {
		n.optionsByGroup[group] = append(n.optionsByGroup[group], id)
	}
	for _, group := range nested {
		n.nested[group] = true
	}
}

// reachability is the set of groups reachable from some groups, including these. It maps each group to its first
// predecessor, and lists the options on the paths.
type reachability struct {
	groups  map[int64]edge
	options []int64
}

// edge is an edge from one group to another through an option. It is zero for the groups at which a search starts.
type edge struct{ from, option int64 }

// reachableFrom searches the graph from the groups, through the options that pass. It visits each link once, within the
// remaining steps.
func (n *nestingGraph) reachableFrom(groups []int64, pass func(option int64) bool) reachability {
	d, seen, queue := reachability{groups: map[int64]edge{}}, map[int64]bool{}, slices.Clone(groups)
	for _, group := range groups {
		n.steps--
		d.groups[group] = edge{}
	}
	for ; len(queue) > 0 && n.steps > 0; queue = queue[1:] {
		for _, option := range n.optionsByGroup[queue[0]] {
			n.steps--
			if seen[option] || !pass(option) || !n.inGroups.containsAll(option, queue[:1]) {
				continue
			}
			seen[option] = true
			d.options = append(d.options, option)
			for _, group := range n.nestedGroups.of(option) {
				n.steps--
				if _, known := d.groups[group]; !known {
					d.groups[group] = edge{queue[0], option}
					queue = append(queue, group)
				}
			}
		}
	}
	return d
}

// firstReached returns the first of the groups that was reached, or 0 if none was.
func (d reachability) firstReached(groups []int64) int64 {
	for _, group := range groups {
		if _, reached := d.groups[group]; reached {
			return group
		}
	}
	return 0
}

// resolveCycles finds the cycles that the links of an option would close: paths from a nested group to a group that
// contains it. If each cycle has an option that may lose its nested groups, these options lose them. Otherwise the
// problem describes one cycle.
func (d *decider) resolveCycles(option int64, links *optionLinks) (problem string) {
	groups, nested, n := links.groups, links.nested, d.nesting
	if n.acyclic || n.inGroups.containsAll(option, groups) && n.nestedGroups.containsAll(option, nested) {
		return "" // in the second case nothing changes, so there is no new cycle
	}
	if !links.clearGroups {
		groups = slices.Concat(n.inGroups.of(option), groups)
	}
	if !links.clearNested {
		nested = slices.Concat(n.nestedGroups.of(option), nested)
	}
	for _, group := range nested {
		n.nested[group] = true
	}
	if len(nested) == 0 || !slices.ContainsFunc(groups, func(group int64) bool { return n.nested[group] }) {
		return ""
	}
	field := "nested_opt_grps"
	if len(links.nested) == 0 {
		field = "opt_grp_ref_ids"
	}
	another := func(other int64) bool { return other != option }
	all := n.reachableFrom(nested, another)
	if all.firstReached(groups) != 0 {
		// without the options that may lose their nested groups
		fixed := n.reachableFrom(nested, func(other int64) bool { return other != option && !d.mayLoseNested(other) })
		if end := fixed.firstReached(groups); end != 0 {
			return field + " makes a cycle of option groups: " + d.describeCycle(fixed, end)
		}
		for _, other := range all.options {
			if d.mayLoseNested(other) && n.reachableFrom(n.nestedGroups.of(other), another).firstReached(groups) != 0 {
				links.displaced = append(links.displaced, other)
			}
		}
	}
	if n.steps <= 0 {
		return field +
			" cannot be checked, because the option groups lead to too many others: send the option in another request"
	}
	return ""
}

// mayLoseNested reports whether an option loses its nested groups in favour of others. It does if the request does not
// name it and it is inactive or flushed.
func (d *decider) mayLoseNested(option int64) bool {
	s := d.nesting.options[option]
	return !s.listed && (!s.record.Active || d.master && d.flush[Options])
}

// maxDescribed bounds the groups in the description of a cycle.
const maxDescribed = 20

// describeCycle names the groups of a cycle, and the options between them.
func (d *decider) describeCycle(path reachability, end int64) string {
	words := []string{quote(d.groups.name(end))}
	for at := end; ; {
		by := path.groups[at]
		if by.option == 0 {
			words = append(words, quote(d.groups.name(at)))
			break
		}
		words = append(words, quote(d.groups.name(at))+" (by option "+quote(d.nesting.options[by.option].record.RefID)+
			")")
		at = by.from
	}
	slices.Reverse(words[1:])
	if len(words) > maxDescribed {
		words = slices.Concat(words[:maxDescribed/2], []string{"…"}, words[len(words)-maxDescribed/2:])
	}
	return strings.Join(words, " > ")
}
