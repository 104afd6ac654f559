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

// offered is an active or inactive group that the item offers, with counts of the chosen options.
type offered struct {
	MenuGroup
	may  int64 // chosen options in this group
	must int64 // those of them that are in no other active group
}

// doubtOptions flags chosen options that neither the item nor another chosen option offers. It also flags groups with
// fewer or more chosen options than the menu allows. An option in several groups counts in the customer's favour.
func (t *till) doubtOptions(item *MenuItem, options []Option, path string) {
	if len(item.Groups) == 0 && len(options) == 0 {
		return
	}
	groups := make([]offered, 0, 8)
	offer := func(list []MenuGroup) {
		for _, group := range list {
			if find(groups, group.ID) == nil {
				groups = append(groups, offered{MenuGroup: group})
			}
		}
	}
	offer(item.Groups)
	for i := range options {
		if option := t.setting.Options[options[i].RefID]; option != nil {
			offer(option.Nested)
		}
	}
	for i := range options {
		if option := t.setting.Options[options[i].RefID]; option != nil {
			if why, code := choose(option, options[i].Quantity, groups); why != "" {
				t.doubt(fmt.Sprintf("%s.options[%d]", path, i), code, why)
			}
		}
	}
	for _, group := range groups {
		switch {
		case !group.Active:
		case group.may < group.Min:
			t.doubt(path, TooFewOptions,
				fmt.Sprintf("at least %d of the option group %.80q must be chosen, not %d", group.Min, group.Title,
					group.may))
		case group.Max >= 0 && group.must > group.Max:
			t.doubt(path, TooManyOptions,
				fmt.Sprintf("at most %d of the option group %.80q may be chosen, not %d", group.Max, group.Title,
					group.must))
		}
	}
}

// place sets the group that each option was chosen from: one that the item or another chosen option offers.
func (s *Setting) place(item *MenuItem, options []Option) {
	for i := range options {
		option := s.Options[options[i].RefID]
		if option == nil {
			continue
		}
		group := firstGroup(item.Groups, option.Groups)
		for n := 0; n < len(options) && group == nil; n++ {
			if other := s.Options[options[n].RefID]; other != nil {
				group = firstGroup(other.Nested, option.Groups)
			}
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

func find(groups []offered, id int64) *offered {
	for i := range groups {
		if groups[i].ID == id {
			return &groups[i]
		}
	}
	return nil
}

// choose counts an option in its groups. If no active group of the item contains it, choose returns the reason and
// its code.
func choose(option *MenuOption, quantity int64, groups []offered) (why, code string) {
	active, switchedOff := 0, false
	var only *offered
	for _, id := range option.Groups {
		switch group := find(groups, id); {
		case group == nil:
		case group.Active:
			group.may += quantity
			active, only = active+1, group
		default:
			switchedOff = true
		}
	}
	switch {
	case active == 1:
		only.must += quantity
	case active > 0 || option.Reason != menu.Orderable: // flagged already
	case switchedOff:
		return "the option's group is not active", NotAvailable
	default:
		return "the item has no such option", NotOnMenu
	}
	return "", ""
}
