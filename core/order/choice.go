package order

import "fmt"

// MenuGroup is an option group of an item, or one that is nested under an option.
type MenuGroup struct {
	ID     int64
	Title  string
	Active bool
	Min    int64 // how many options of it have to be chosen; 0 also where the store sells none of them, and of nested ones
	Max    int64 // how many may be; negative: any number
}

// offered is a group of which options can be chosen, and how many were.
type offered struct {
	MenuGroup
	may  int64 // options that are in it
	must int64 // those of them that are in no other group that is offered
}

// doubtOptions flags options that the groups of the item do not offer, nor those that
// are nested under options that were chosen, and groups of which fewer or more were
// chosen than the menu asks for. An option that is in several counts where that is right.
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
			t.doubt(path, TooFewOptions, fmt.Sprintf("at least %d of the option group %.80q must be chosen; %d were", group.Min, group.Title, group.may))
		case group.Max >= 0 && group.must > group.Max:
			t.doubt(path, TooManyOptions, fmt.Sprintf("at most %d of the option group %.80q may be chosen; %d were", group.Max, group.Title, group.must))
		}
	}
}

func find(groups []offered, id int64) *offered {
	for i := range groups {
		if groups[i].ID == id {
			return &groups[i]
		}
	}
	return nil
}

// choose counts an option in its groups, or says why none of those that are offered
// and active has it.
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
	case active > 0 || !option.Sold || !option.Available: // that is told already
	case switchedOff:
		return "the option's group is not active", NotAvailable
	default:
		return "the item has no such option", NotOnMenu
	}
	return "", ""
}
