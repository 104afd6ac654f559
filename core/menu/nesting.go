package menu

import (
	"slices"
	"strings"
)

// nesting is the graph of option groups under option groups: an option with
// nested groups leads from each group that it is in to each that is under it.
type nesting struct {
	inGroups, underneath *linkBook
	leading              map[int64][]int64 // by group: the options in it that have nested groups, or had
}

func newNesting(inGroups, underneath *linkBook, stored []Link) *nesting {
	n := &nesting{inGroups: inGroups, underneath: underneath, leading: map[int64][]int64{}}
	for _, link := range stored {
		n.update(link.From)
	}
	return n
}

// update takes note of the groups of an option.
func (n *nesting) update(option int64) {
	if len(n.underneath.of(option)) == 0 {
		return
	}
	for _, group := range n.inGroups.of(option) {
		if !slices.Contains(n.leading[group], option) {
			n.leading[group] = append(n.leading[group], option)
		}
	}
}

// below lists the groups directly under a group.
func (n *nesting) below(group int64) []int64 {
	var list []int64
	for _, option := range n.leading[group] {
		if slices.Contains(n.inGroups.of(option), group) {
			list = append(list, n.underneath.of(option)...)
		}
	}
	return list
}

// path finds a way down from one group to any of the goals, both ends included.
func (n *nesting) path(from int64, goals map[int64]bool, seen map[int64]bool) []int64 {
	if goals[from] {
		return []int64{from}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, group := range n.below(from) {
		if rest := n.path(group, goals, seen); rest != nil {
			return append([]int64{from}, rest...)
		}
	}
	return nil
}

// cycle spells out the cycle that the links of an option would close, "" when
// they close none: a way down from a group under it to a group that it is in.
func (d *decider) cycle(option int64, links optionLinks) string {
	groups, nested := links.groups, links.nested
	if !links.clearGroups {
		groups = slices.Concat(d.links[OptionInGroup].of(option), groups)
	}
	if !links.clearNested {
		nested = slices.Concat(d.links[GroupUnderneath].of(option), nested)
	}
	if len(nested) == 0 || len(groups) == 0 {
		return ""
	}
	goals := make(map[int64]bool, len(groups))
	for _, group := range groups {
		goals[group] = true
	}
	seen := map[int64]bool{}
	for _, group := range nested {
		if way := d.nesting.path(group, goals, seen); way != nil {
			return d.spell(way)
		}
	}
	return ""
}

// spell names the groups of a cycle: the way down, entered from its own end.
func (d *decider) spell(way []int64) string {
	words := make([]string, 0, len(way)+1)
	for _, id := range slices.Concat(way[len(way)-1:], way) {
		words = append(words, quote(d.groups.name(id)))
	}
	return strings.Join(words, " > ")
}
