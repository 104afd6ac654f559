package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// visibility computes what is visible of a store's menu on a platform. It identifies entities by their row, the index in
// the menu's list. The row after the last stands for entities that the menu does not contain. It is never visible.
type visibility struct {
	menu         *Menu
	platform     core.Platform
	rows         PerKind[rows]
	to           PerRelation[adjacency] // from an owner, by position
	from         PerRelation[adjacency] // to an owner
	storeItems   []*ItemValues          // nil: not sold at the store
	storeOptions []*OptionValues
	categories   []bool // visible ones
	items        []bool
	groups       []bool
	options      []bool
	orderable    []bool   // options: active at the master, sold and available at the store
	unsatisfied  []bool   // groups that require more options than can be ordered
	groupOrder   []int32  // all option groups, in the order that customers see
	groupRank    []int32  // the index of each in ranked
	refIDs       []string // buffer for lists of them
	sortBuffer   []int32  // buffer to sort rows
	omitted      []OmittedItem
}

func newVisibility(m *Menu, platform core.Platform, blocked map[int64]bool) *visibility {
	s := &visibility{menu: m, platform: platform}
	s.buildIndexes()
	open := s.activeCategories()
	s.computeOrderable()
	s.items = make([]bool, len(m.Items)+1)
	for row := range m.Items {
		item := &m.Items[row]
		s.items[row] = s.isOrderable(row, Orderability(Offer{
			Item: item, AtStore: s.storeItems[row], Platform: platform.Name, BreaksRule: blocked[item.ID],
			CategoryInactive: slices.ContainsFunc(s.to[ItemCategory].of(row),
				func(category int32) bool { return !open[category] }),
			OptionsMissing: anyOf(s.from[GroupItem].of(row), s.unsatisfied),
		}))
	}
	slices.SortFunc(s.omitted, func(a, b OmittedItem) int { return strings.Compare(a.RefID, b.RefID) })
	s.categories = s.categoriesInUse(open)
	s.computeVisibleOptions()
	return s
}

// activeCategories returns the active categories whose parent, if any, is active too.
func (s *visibility) activeCategories() []bool {
	active, open := make([]bool, len(s.menu.Categories)+1), make([]bool, len(s.menu.Categories)+1)
	for row := range s.menu.Categories {
		active[row] = s.menu.Categories[row].Active
	}
	for row := range s.menu.Categories {
		c := &s.menu.Categories[row]
		open[row] = c.Active && (c.ParentID == 0 || active[s.rows[Categories].of(c.ParentID)])
	}
	return open
}

// computeOrderable computes the options that can be ordered, and the groups that require more than these. An option with such a
// nested group cannot be ordered either.
func (s *visibility) computeOrderable() {
	s.orderable = make([]bool, len(s.menu.Options)+1)
	for row := range s.menu.Options {
		s.orderable[row] = OptionOrderability(&s.menu.Options[row], s.storeOptions[row]) == Orderable
	}
	s.unsatisfied = make([]bool, len(s.menu.OptionGroups)+1)
	for again := true; again; {
		again = false
		for row := range s.menu.OptionGroups {
			s.unsatisfied[row] = s.missingOptions(row) > 0
		}
		for row, ok := range s.orderable {
			if ok && anyOf(s.to[NestedGroup].of(row), s.unsatisfied) {
				s.orderable[row], again = false, true
			}
		}
	}
}

// missingOptions returns how many options a group lacks to meet its minimum.
func (s *visibility) missingOptions(row int) int64 {
	sold, orderable := int64(0), int64(0)
	for _, option := range s.from[OptionInGroup].of(row) {
		if s.storeOptions[option] != nil {
			sold++
		}
		if s.orderable[option] {
			orderable++
		}
	}
	return s.menu.OptionGroups[row].MissingOptions(sold, orderable)
}

// isOrderable reports whether an item can be ordered. If only options are missing, it records the item.
func (s *visibility) isOrderable(row int, why Reason) bool {
	if why == OptionsMissing {
		groups := s.from[GroupItem].of(row)
		group := groups[slices.IndexFunc(groups, func(group int32) bool { return s.unsatisfied[group] })]
		g := &s.menu.OptionGroups[group]
		s.omitted = append(s.omitted, OmittedItem{
			RefID: s.menu.Items[row].RefID,
			Message: fmt.Sprintf("at least %d of the option group %s must be chosen, but only %d can be ordered here",
				g.MinSelectable, quote(g.RefID), g.MinSelectable-s.missingOptions(int(group))),
		})
	}
	return why == Orderable
}

// anyOf reports whether a set contains one of the rows.
func anyOf(rows []int32, set []bool) bool {
	return slices.ContainsFunc(rows, func(row int32) bool { return set[row] })
}

// categoriesInUse returns the open categories with a visible item, and their parents.
func (s *visibility) categoriesInUse(open []bool) []bool {
	used := make([]bool, len(open))
	for row := range s.menu.Categories {
		if open[row] && anyOf(s.from[ItemCategory].of(row), s.items) {
			used[row] = true
			if parent := s.menu.Categories[row].ParentID; parent != 0 {
				used[s.rows[Categories].of(parent)] = true
			}
		}
	}
	return used
}

// computeVisibleOptions computes the option groups and options that are reachable from a visible item. A group without an option
// that can be ordered is not visible.
func (s *visibility) computeVisibleOptions() {
	serving := make([]bool, len(s.menu.OptionGroups)+1)
	var start []int32
	for row := range s.menu.OptionGroups {
		serving[row] = s.menu.OptionGroups[row].Active && anyOf(s.from[OptionInGroup].of(row), s.orderable)
		if anyOf(s.to[GroupItem].of(row), s.items) {
			start = append(start, int32(row))
		}
	}
	s.groups = s.reachableGroups(serving, start, s.orderable)
	s.options = make([]bool, len(s.orderable))
	for row, ok := range s.orderable {
		s.options[row] = ok && anyOf(s.to[OptionInGroup].of(row), s.groups)
	}
}

// reachableGroups returns the groups that are reachable from the start groups, through the options in them.
func (s *visibility) reachableGroups(groups []bool, start []int32, options []bool) []bool {
	reached := make([]bool, len(groups))
	for len(start) > 0 {
		group := start[len(start)-1]
		start = start[:len(start)-1]
		if reached[group] || !groups[group] {
			continue
		}
		reached[group] = true
		for _, option := range s.from[OptionInGroup].of(int(group)) {
			if options[option] {
				start = append(start, s.to[NestedGroup].of(int(option))...)
			}
		}
	}
	return reached
}

// image returns the picture for the platform: its own, or else the default one, or else the plain URL (spec, Item).
func (s *visibility) image(images jsontext.Value, plain *string) string {
	chosen := valueOf(plain)
	if images == nil { // most have none
		return chosen
	}
	for _, image := range decodeDocument[[]Image](images) {
		switch image.Tag {
		case s.platform.Name:
			return image.URL
		case DefaultTag:
			chosen = image.URL
		}
	}
	return chosen
}

// TagsOn returns the tags of an item for a platform: its own, or else the default ones.
func (i *Item) TagsOn(platform string) []string {
	tags := decodeDocument[map[string][]string](i.Tags)
	if own, has := tags[platform]; has {
		return own
	}
	return tags[DefaultTag]
}
