package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// sight is what can be seen of a store's menu on a platform. Here entities go by
// their rows: the places where they stand in the menu's lists. The row behind
// the last is that of what the menu does not hold; it is never in sight.
type sight struct {
	menu        *Menu
	platform    core.Platform
	rows        PerKind[rows]
	to          PerRelation[linked] // from an owner, by position
	from        PerRelation[linked] // to an owner
	itemsHere   []*ItemValues       // nil: not sold here
	optionsHere []*OptionValues
	categories  []bool // in sight
	items       []bool
	groups      []bool
	options     []bool
	orderable   []bool   // options: active at the master, sold and available here
	unmet       []bool   // groups that demand more options than can be ordered
	ranked      []int32  // all option groups, as customers see them
	ranks       []int32  // where each of them stands there
	refIDs      []string // room for lists of them
	several     []int32  // room to sort rows
	leftOut     []LeftOut
}

func newSight(m *Menu, platform core.Platform, blocked map[int64]bool) *sight {
	s := &sight{menu: m, platform: platform}
	s.find()
	open := s.openCategories()
	s.demand()
	s.items = make([]bool, len(m.Items)+1)
	for row := range m.Items {
		s.items[row] = !blocked[m.Items[row].ID] && s.itemSeen(row, open) && s.choosable(row)
	}
	slices.SortFunc(s.leftOut, func(a, b LeftOut) int { return strings.Compare(a.RefID, b.RefID) })
	s.categories = s.categoriesInUse(open)
	s.seeOptions()
	return s
}

// openCategories are those that are active, under a parent that is.
func (s *sight) openCategories() []bool {
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

// itemSeen tells whether an item can be ordered: active at the master, sold and
// available here, in stock, listed on the platform, and in no category that is
// closed: that makes all its items inactive (spec, Category).
func (s *sight) itemSeen(row int, open []bool) bool {
	item, here := &s.menu.Items[row], s.itemsHere[row]
	if !item.Active || here == nil || !here.Available || here.CurrentStock == 0 {
		return false
	}
	if item.IncludedPlatforms != nil && !slices.Contains(read[[]string](item.IncludedPlatforms), s.platform.Name) {
		return false
	}
	return !slices.ContainsFunc(s.to[ItemCategory].of(row), func(category int32) bool { return !open[category] })
}

// demand finds the options that can be ordered, and the groups that demand more of
// them than there are. Nor can an option be ordered that has such a group underneath.
func (s *sight) demand() {
	s.orderable = make([]bool, len(s.menu.Options)+1)
	for row := range s.menu.Options {
		here := s.optionsHere[row]
		s.orderable[row] = s.menu.Options[row].Active && here != nil && here.Available
	}
	s.unmet = make([]bool, len(s.menu.OptionGroups)+1)
	for again := true; again; {
		again = false
		for row := range s.menu.OptionGroups {
			s.unmet[row] = s.shortOf(row) > 0
		}
		for row, ok := range s.orderable {
			if ok && anyOf(s.to[GroupUnderneath].of(row), s.unmet) {
				s.orderable[row], again = false, true
			}
		}
	}
}

// shortOf is how many more options a group demands than can be ordered. One of
// which the store sells no option at all is no part of its menu, and demands none.
func (s *sight) shortOf(row int) int64 {
	g, options := &s.menu.OptionGroups[row], s.from[OptionInGroup].of(row)
	if !g.Active || g.MinSelectable == 0 || !slices.ContainsFunc(options, func(option int32) bool { return s.optionsHere[option] != nil }) {
		return 0
	}
	there := int64(0)
	for _, option := range options {
		if s.orderable[option] {
			there++
		}
	}
	if g.MultiOptionsEnabled && there > 0 { // one of them, so many times
		return 0
	}
	return g.MinSelectable - there
}

// choosable tells whether what the groups of an item demand can be chosen, and
// notes an item of which it cannot.
func (s *sight) choosable(row int) bool {
	groups := s.from[GroupItem].of(row)
	at := slices.IndexFunc(groups, func(group int32) bool { return s.unmet[group] })
	if at >= 0 {
		g := &s.menu.OptionGroups[groups[at]]
		s.leftOut = append(s.leftOut, LeftOut{
			RefID: s.menu.Items[row].RefID,
			Message: fmt.Sprintf("at least %d of the option group %s must be chosen, and %d can be ordered here",
				g.MinSelectable, quote(g.RefID), g.MinSelectable-s.shortOf(int(groups[at]))),
		})
	}
	return at < 0
}

// anyOf tells whether a set holds one of the rows.
func anyOf(rows []int32, set []bool) bool {
	return slices.ContainsFunc(rows, func(row int32) bool { return set[row] })
}

// categoriesInUse are the open categories with an item to see, and their parents.
func (s *sight) categoriesInUse(open []bool) []bool {
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

// seeOptions finds the option groups and options that can be come to from an
// item in sight. A group with no option to order is not seen.
func (s *sight) seeOptions() {
	serving := make([]bool, len(s.menu.OptionGroups)+1)
	var start []int32
	for row := range s.menu.OptionGroups {
		serving[row] = s.menu.OptionGroups[row].Active && anyOf(s.from[OptionInGroup].of(row), s.orderable)
		if anyOf(s.to[GroupItem].of(row), s.items) {
			start = append(start, int32(row))
		}
	}
	s.groups = s.reach(serving, start, s.orderable)
	s.options = make([]bool, len(s.orderable))
	for row, ok := range s.orderable {
		s.options[row] = ok && anyOf(s.to[OptionInGroup].of(row), s.groups)
	}
}

// reach is those of the groups that hang on the start, and on the options in
// those groups, and so on down.
func (s *sight) reach(groups []bool, start []int32, options []bool) []bool {
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
				start = append(start, s.to[GroupUnderneath].of(int(option))...)
			}
		}
	}
	return reached
}

// image chooses the picture for the platform: its own, else the default one,
// else the plain link (spec, Item).
func (s *sight) image(images jsontext.Value, plain *string) string {
	chosen := valueOf(plain)
	if images == nil { // most have none
		return chosen
	}
	for _, image := range read[[]Image](images) {
		switch image.Tag {
		case s.platform.Name:
			return image.URL
		case DefaultTag:
			chosen = image.URL
		}
	}
	return chosen
}

// tags chooses the tags for the platform: its own, else the default ones.
func (s *sight) tags(stored jsontext.Value) []string {
	tags := read[map[string][]string](stored)
	if own, has := tags[s.platform.Name]; has {
		return own
	}
	return tags[DefaultTag]
}
