package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// visibility computes what is visible of a store's menu on a platform. It identifies entities by their row, the index
// in the menu's list. The row after the last stands for entities that the menu does not contain. It is never visible.
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
	reasons      []Reason // of the items
	groups       []bool
	options      []bool
	orderable    []bool   // options: active at the master, sold and available at the store
	unsatisfied  []bool   // groups that require more options than can be ordered
	groupOrder   []int32  // all option groups, in the order that customers see
	groupRank    []int32  // the index of each in groupOrder
	refIDs       []string // buffer for lists of them
	sortBuffer   []int32  // buffer to sort rows
}

func newVisibility(m *Menu, platform core.Platform, blocked map[int64]bool) *visibility {
	v := &visibility{menu: m, platform: platform}
	v.buildIndexes()
	active := v.activeCategories()
	v.computeOrderable()
	v.items, v.reasons = make([]bool, len(m.Items)+1), make([]Reason, len(m.Items))
	for row := range m.Items {
		item := &m.Items[row]
		v.reasons[row] = Orderability(Offer{
			Item: item, AtStore: v.storeItems[row], Platform: platform.Name, BreaksRule: blocked[item.ID],
			CategoryInactive: slices.ContainsFunc(v.to[ItemCategory].of(row),
				func(category int32) bool { return !active[category] }),
			OptionsMissing: anyOf(v.from[GroupItem].of(row), v.unsatisfied),
		})
		v.items[row] = v.reasons[row] == Orderable
	}
	v.categories = v.categoriesInUse(active)
	v.computeVisibleOptions()
	return v
}

// activeCategories returns the active categories whose parent, if any, is active too.
func (v *visibility) activeCategories() []bool {
	own, active := make([]bool, len(v.menu.Categories)+1), make([]bool, len(v.menu.Categories)+1)
	for row := range v.menu.Categories {
		own[row] = v.menu.Categories[row].Active
	}
	for row := range v.menu.Categories {
		c := &v.menu.Categories[row]
		active[row] = c.Active && (c.ParentID == 0 || own[v.rows[Categories].of(c.ParentID)])
	}
	return active
}

// computeOrderable computes the options that can be ordered, and the groups that require more than these. An option
// with such a nested group cannot be ordered either.
func (v *visibility) computeOrderable() {
	v.orderable = make([]bool, len(v.menu.Options)+1)
	for row := range v.menu.Options {
		v.orderable[row] = OptionOrderability(&v.menu.Options[row], v.storeOptions[row]) == Orderable
	}
	v.unsatisfied = make([]bool, len(v.menu.OptionGroups)+1)
	for again := true; again; {
		again = false
		for row := range v.menu.OptionGroups {
			v.unsatisfied[row] = v.missingOptions(row) > 0
		}
		for row, ok := range v.orderable {
			if ok && anyOf(v.to[NestedGroup].of(row), v.unsatisfied) {
				v.orderable[row], again = false, true
			}
		}
	}
}

// missingOptions returns how many options a group lacks to meet its minimum.
func (v *visibility) missingOptions(row int) int64 {
	sold, orderable := int64(0), int64(0)
	for _, option := range v.from[OptionInGroup].of(row) {
		if v.storeOptions[option] != nil {
			sold++
		}
		if v.orderable[option] {
			orderable++
		}
	}
	return v.menu.OptionGroups[row].MissingOptions(sold, orderable)
}

// omitted returns the items that only lack options.
func (v *visibility) omitted() (list []OmittedItem) {
	for row, why := range v.reasons {
		if why != OptionsMissing {
			continue
		}
		groups := v.from[GroupItem].of(row)
		group := groups[slices.IndexFunc(groups, func(group int32) bool { return v.unsatisfied[group] })]
		g := &v.menu.OptionGroups[group]
		list = append(list, OmittedItem{
			RefID: v.menu.Items[row].RefID,
			Message: fmt.Sprintf("at least %d of the option group %s must be chosen, but only %d can be ordered here",
				g.MinSelectable, quote(g.RefID), g.MinSelectable-v.missingOptions(int(group))),
		})
	}
	slices.SortFunc(list, func(a, b OmittedItem) int { return strings.Compare(a.RefID, b.RefID) })
	return list
}

// anyOf reports whether a set contains one of the rows.
func anyOf(rows []int32, set []bool) bool {
	return slices.ContainsFunc(rows, func(row int32) bool { return set[row] })
}

// categoriesInUse returns the active categories with a visible item, and their parents.
func (v *visibility) categoriesInUse(active []bool) []bool {
	used := make([]bool, len(active))
	for row := range v.menu.Categories {
		if active[row] && anyOf(v.from[ItemCategory].of(row), v.items) {
			used[row] = true
			if parent := v.menu.Categories[row].ParentID; parent != 0 {
				used[v.rows[Categories].of(parent)] = true
			}
		}
	}
	return used
}

// computeVisibleOptions computes the option groups and options that are reachable from a visible item. A group without
// an option that can be ordered is not visible.
func (v *visibility) computeVisibleOptions() {
	serving := make([]bool, len(v.menu.OptionGroups)+1)
	var start []int32
	for row := range v.menu.OptionGroups {
		serving[row] = v.menu.OptionGroups[row].Active && anyOf(v.from[OptionInGroup].of(row), v.orderable)
		if anyOf(v.to[GroupItem].of(row), v.items) {
			start = append(start, int32(row))
		}
	}
	v.groups = v.reachableGroups(serving, start, v.orderable)
	v.options = make([]bool, len(v.orderable))
	for row, ok := range v.orderable {
		v.options[row] = ok && anyOf(v.to[OptionInGroup].of(row), v.groups)
	}
}

// reachableGroups returns the groups that are reachable from the start groups, through the options in them.
func (v *visibility) reachableGroups(groups []bool, start []int32, options []bool) []bool {
	reached := make([]bool, len(groups))
	for len(start) > 0 {
		group := start[len(start)-1]
		start = start[:len(start)-1]
		if reached[group] || !groups[group] {
			continue
		}
		reached[group] = true
		for _, option := range v.from[OptionInGroup].of(int(group)) {
			if options[option] {
				start = append(start, v.to[NestedGroup].of(int(option))...)
			}
		}
	}
	return reached
}

// image returns the picture for the platform: its own, or else the default one, or else the plain URL.
func (v *visibility) image(images jsontext.Value, plain *string) string {
	chosen := valueOf(plain)
	if images == nil { // most have none
		return chosen
	}
	for _, image := range decodeDocument[[]Image](images) {
		switch image.Tag {
		case v.platform.Name:
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
