package order

import (
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core/menu"
)

// MenuGroup is an option group of an item, or one nested under an option.
type MenuGroup struct {
	ID     int64
	Title  string
	Active bool
	Min    int64 // how many options must be chosen; 0 for nested groups, and if the store sells none of the options
	Max    int64 // how many may be chosen; negative: any number
}

// groupCount is an active or inactive group that the item offers, with counts of the chosen options.
type groupCount struct {
	MenuGroup
	chosen    int64 // chosen options in this group
	exclusive int64 // those of them that are in no other active group
}

// flagOptions flags chosen options that neither the item nor another chosen option offers. It also flags groups with
// fewer or more chosen options than the menu allows. An option in several groups counts in the customer's favour.
func (pr *pricer) flagOptions(item *MenuItem, options []Option, path string) {
	if len(item.Groups) == 0 && len(options) == 0 {
		return
	}
	groups := make([]groupCount, 0, 8)
	offer := func(list []MenuGroup) {
		for _, group := range list {
			if findGroup(groups, group.ID) == nil {
				groups = append(groups, groupCount{MenuGroup: group})
			}
		}
	}
	offer(item.Groups)
	for i := range options {
		if option := pr.pricing.Options[options[i].RefID]; option != nil {
			offer(option.Nested)
		}
	}
	for i := range options {
		if option := pr.pricing.Options[options[i].RefID]; option != nil {
			if why, code := countOption(option, options[i].Quantity, groups); why != "" {
				pr.flag(fmt.Sprintf("%s.options[%d]", path, i), code, why)
			}
		}
	}
	for _, group := range groups {
		switch {
		case !group.Active:
		case group.chosen < group.Min:
			pr.flag(path, TooFewOptions,
				fmt.Sprintf("at least %d of the option group %.80q must be chosen, not %d", group.Min, group.Title,
					group.chosen))
		case group.Max >= 0 && group.exclusive > group.Max:
			pr.flag(path, TooManyOptions,
				fmt.Sprintf("at most %d of the option group %.80q may be chosen, not %d", group.Max, group.Title,
					group.exclusive))
		}
	}
}

// assignGroups sets the group that each option was chosen from: one that the item or another chosen option offers.
func (s *PricingContext) assignGroups(item *MenuItem, options []Option) {
	var nested map[int64]nestedGroup
	for i := range options {
		option := s.Options[options[i].RefID]
		if option == nil {
			continue
		}
		group := firstGroup(item.Groups, option.Groups)
		if group == nil {
			if nested == nil { // few items have nested groups
				nested = s.nestedGroups(options)
			}
			group = firstNested(nested, option.Groups)
		}
		if group != nil {
			options[i].Group = ChosenGroup{group.ID, group.Title}
		}
	}
}

// firstGroup returns the first of the offered groups that contains an option.
func firstGroup(offered []MenuGroup, containing []int64) *MenuGroup {
	for i := range offered {
		if slices.Contains(containing, offered[i].ID) {
			return &offered[i]
		}
	}
	return nil
}

// nestedGroup is a group that a chosen option offers, and its position among them.
type nestedGroup struct {
	*MenuGroup
	position int
}

// nestedGroups returns the groups that chosen options offer, by id. A search for each option would take quadratic time.
func (s *PricingContext) nestedGroups(options []Option) map[int64]nestedGroup {
	groups := map[int64]nestedGroup{}
	for i := range options {
		option := s.Options[options[i].RefID]
		if option == nil {
			continue
		}
		for n := range option.Nested {
			if _, known := groups[option.Nested[n].ID]; !known {
				groups[option.Nested[n].ID] = nestedGroup{&option.Nested[n], len(groups)}
			}
		}
	}
	return groups
}

// firstNested returns the first of the groups that contains an option.
func firstNested(groups map[int64]nestedGroup, containing []int64) *MenuGroup {
	var first nestedGroup
	for _, id := range containing {
		if group, known := groups[id]; known && (first.MenuGroup == nil || group.position < first.position) {
			first = group
		}
	}
	return first.MenuGroup
}

func findGroup(groups []groupCount, id int64) *groupCount {
	for i := range groups {
		if groups[i].ID == id {
			return &groups[i]
		}
	}
	return nil
}

// countOption counts an option in its groups. If no active group of the item contains it, choose returns the reason and
// its code.
func countOption(option *MenuOption, quantity int64, groups []groupCount) (why, code string) {
	active, switchedOff := 0, false
	var only *groupCount
	for _, id := range option.Groups {
		switch group := findGroup(groups, id); {
		case group == nil:
		case group.Active:
			group.chosen += quantity
			active, only = active+1, group
		default:
			switchedOff = true
		}
	}
	switch {
	case active == 1:
		only.exclusive += quantity
	case active > 0 || option.Reason != menu.Orderable: // flagged already
	case switchedOff:
		return "the option's group is not active", NotAvailable
	default:
		return "the item has no such option", NotOnMenu
	}
	return "", ""
}
