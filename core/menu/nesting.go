package menu

import (
	"slices"
	"strings"
)

// nesting is the graph of option groups under option groups: an option with
// nested groups leads from each group that it is in to each that is under it.
// It never holds a cycle.
type nesting struct {
	inGroups, underneath *linkBook
	options              map[int64]*slot[Option] // those that have nested groups, or had
	leading              map[int64][]int64       // by group: those of them that are in it, or were
	nested               map[int64]bool          // the groups that are under an option, or were
	steps                int                     // how many links may still be walked
}

// maxSteps bounds what the search for cycles costs a request: the links walked,
// of all its options together, in a fraction of a second.
const maxSteps = 1_000_000

func newNesting(inGroups, underneath *linkBook, options []*slot[Option]) *nesting {
	n := &nesting{
		inGroups: inGroups, underneath: underneath, steps: maxSteps,
		options: map[int64]*slot[Option]{}, leading: map[int64][]int64{}, nested: map[int64]bool{},
	}
	for _, option := range options {
		n.update(option)
	}
	return n
}

// update takes note of the groups of an option.
func (n *nesting) update(option *slot[Option]) {
	id := option.record.ID
	nested := n.underneath.of(id)
	if len(nested) == 0 {
		return
	}
	n.options[id] = option
	for _, group := range n.inGroups.of(id) {
		n.leading[group] = append(n.leading[group], id)
	}
	for _, group := range nested {
		n.nested[group] = true
	}
}

// descent is what lies under some groups, these included: each group with how it
// was come to first, and the options on the ways.
type descent struct {
	groups  map[int64]hop
	options []int64
}

// hop is the way from one group to another, by an option; zero where a descent begins.
type hop struct{ from, option int64 }

// under walks down from the groups through the options that are let pass, each
// link once, as far as the steps last.
func (n *nesting) under(groups []int64, pass func(option int64) bool) descent {
	d, seen, queue := descent{groups: map[int64]hop{}}, map[int64]bool{}, slices.Clone(groups)
	for _, group := range groups {
		n.steps--
		d.groups[group] = hop{}
	}
	for ; len(queue) > 0 && n.steps > 0; queue = queue[1:] {
		for _, option := range n.leading[queue[0]] {
			n.steps--
			if seen[option] || !pass(option) || !n.inGroups.holdsAll(option, queue[:1]) {
				continue
			}
			seen[option] = true
			d.options = append(d.options, option)
			for _, group := range n.underneath.of(option) {
				n.steps--
				if _, known := d.groups[group]; !known {
					d.groups[group] = hop{queue[0], option}
					queue = append(queue, group)
				}
			}
		}
	}
	return d
}

// first is the first of the groups that was come to; 0 where none was.
func (d descent) first(groups []int64) int64 {
	for _, group := range groups {
		if _, reached := d.groups[group]; reached {
			return group
		}
	}
	return 0
}

// untangle finds the cycles that the links of an option would close: ways down from
// a group under it to one that it is in. Where options are on all of them that are
// not active, these give way: they are to lose their nested groups. Otherwise the
// problem spells one out.
func (d *decider) untangle(option int64, links *optionLinks) (problem string) {
	groups, nested, n := links.groups, links.nested, d.nesting
	if n.inGroups.holdsAll(option, groups) && n.underneath.holdsAll(option, nested) {
		return "" // it had them all before, and there was no cycle
	}
	if !links.clearGroups {
		groups = slices.Concat(n.inGroups.of(option), groups)
	}
	if !links.clearNested {
		nested = slices.Concat(n.underneath.of(option), nested)
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
	all := n.under(nested, another)
	if all.first(groups) != 0 {
		firm := n.under(nested, func(other int64) bool { return other != option && !d.yields(other) })
		if end := firm.first(groups); end != 0 {
			return field + " makes a cycle of option groups: " + d.spell(firm, end)
		}
		for _, other := range all.options {
			if d.yields(other) && n.under(n.underneath.of(other), another).first(groups) != 0 {
				links.yielding = append(links.yielding, other)
			}
		}
	}
	if n.steps <= 0 {
		return field + " cannot be checked: the option groups of the request lead to too many others; send the option again in another request"
	}
	return ""
}

// yields tells whether an option gives way to others: it is not active, or is
// flushed, and the request does not name it.
func (d *decider) yields(option int64) bool {
	s := d.nesting.options[option]
	return !s.listed && (!s.record.Active || d.master && d.flush[Options])
}

// maxSpelled bounds how much of a cycle is spelled out, in groups.
const maxSpelled = 20

// spell names the groups of a cycle, and the options that lead down from each to
// the next: the way to its end, entered from there.
func (d *decider) spell(way descent, end int64) string {
	words := []string{quote(d.groups.name(end))}
	for at := end; ; {
		by := way.groups[at]
		if by.option == 0 {
			words = append(words, quote(d.groups.name(at)))
			break
		}
		words = append(words, quote(d.groups.name(at))+" (by option "+quote(d.nesting.options[by.option].record.RefID)+")")
		at = by.from
	}
	slices.Reverse(words[1:])
	if len(words) > maxSpelled {
		words = slices.Concat(words[:maxSpelled/2], []string{"…"}, words[len(words)-maxSpelled/2:])
	}
	return strings.Join(words, " > ")
}
