package menu

import (
	"maps"
	"slices"
	"strconv"
)

func (m *model) option(o OptionObject, st *mStore, flush, acyclic bool, listed map[string]bool) string {
	ref := *o.RefID
	old, isNew := m.options[ref], m.options[ref] == nil
	next := &mOption{available: true, active: true, groups: map[string]bool{}, nested: map[string]bool{}}
	if !isNew {
		*next = *old
		next.groups, next.nested = maps.Clone(old.groups), maps.Clone(old.nested)
	} else if o.Title == nil {
		return "no title"
	}
	m.link(next, o, st)
	m.options[ref] = next
	mayLose := func(name string) bool {
		return !listed[name] && (!m.options[name].active || st == nil && flush)
	}
	for _, above := range m.above(func(name string) bool { return !mayLose(name) }) {
		if above[0] == above[1] && !acyclic {
			delete(m.options, ref)
			if !isNew {
				m.options[ref] = old
			}
			return "cycle"
		}
	}
	for _, above := range m.above(func(string) bool { return true }) {
		for name, other := range m.options { // with a link back from a nested group
			if !acyclic && mayLose(name) && other.nested[above[0]] && other.groups[above[1]] {
				clear(other.nested)
			}
		}
	}
	take(&next.title, o.Title)
	if st == nil {
		next.price = o.Price.String()
		take(&next.available, o.Available)
		next.active = next.active || flush || isTrue(o.Available)
		return ""
	}
	if isNew {
		next.price = o.Price.String()
	}
	return m.optionAtStore(o, next, st)
}

// link applies the links of a sent option.
func (m *model) link(next *mOption, o OptionObject, st *mStore) {
	if st == nil && (o.ClearOptGrps || o.ClearOptGrpRefIDs) {
		clear(next.groups)
	}
	if st == nil && o.ClearNestedOptGrps {
		clear(next.nested)
	}
	for _, group := range o.OptGrpRefIDs {
		if m.groups[group] != nil {
			next.groups[group] = true
		}
	}
	for _, group := range o.NestedOptGrps {
		if m.groups[group] != nil {
			next.nested[group] = true
		}
	}
}

// acyclicOptions reports whether the groups have no cycle once all sent options are applied. The order of the options
// does not matter then.
func (m *model) acyclicOptions(sent []Submitted[OptionObject], st *mStore) bool {
	after := &model{groups: m.groups, options: maps.Clone(m.options)}
	for _, s := range sent {
		next := &mOption{groups: map[string]bool{}, nested: map[string]bool{}}
		if old := m.options[*s.Object.RefID]; old != nil {
			next.groups, next.nested = maps.Clone(old.groups), maps.Clone(old.nested)
		} else if s.Object.Title == nil {
			continue // it fails
		}
		after.link(next, s.Object, st)
		after.options[*s.Object.RefID] = next
	}
	return !slices.ContainsFunc(after.above(func(string) bool { return true }),
		func(above [2]string) bool { return above[0] == above[1] })
}

func (m *model) optionAtStore(o OptionObject, master *mOption, st *mStore) string {
	at, sold := st.options[*o.RefID]
	if o.SoldAtStore != nil && !*o.SoldAtStore {
		delete(st.options, *o.RefID)
		return map[bool]string{true: "D"}[sold]
	}
	if !sold {
		at[1] = strconv.FormatBool(master.available)
	}
	at[0] = o.Price.String()
	if o.Available != nil {
		at[1] = strconv.FormatBool(*o.Available)
	}
	st.options[*o.RefID] = at
	if isTrue(o.Available) {
		master.active, master.available = true, true
	}
	return ""
}

// above returns the pairs of groups where the first is above the second, through the given options.
func (m *model) above(by func(option string) bool) [][2]string {
	above := map[[2]string]bool{}
	for name, o := range m.options {
		for group := range o.groups {
			for nested := range o.nested {
				if by(name) {
					above[[2]string{group, nested}] = true
				}
			}
		}
	}
	for k := range m.groups {
		for i := range m.groups {
			for j := range m.groups {
				if above[[2]string{i, k}] && above[[2]string{k, j}] {
					above[[2]string{i, j}] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(above))
}

func (m *model) flushOptions(listed []string, st *mStore) (deleted int) {
	named := asSet(listed)
	if st != nil {
		for ref := range st.options {
			if !named[ref] {
				delete(st.options, ref)
				deleted++
			}
		}
		return deleted
	}
	gone := map[string]bool{}
	for ref, o := range m.options {
		if deactivateUnlisted(&o.active, named[ref]) == 1 {
			gone[ref] = true
		}
	}
	for _, s := range m.stores {
		for ref := range s.options {
			gone[ref] = true
		}
		clear(s.options)
	}
	return len(gone)
}

// mSent is a submitted tax or charge.
type mSent struct {
	code   string
	title  *string
	active *bool
	clear  bool
	items  []string
}

// adjustment applies a tax or a charge. An item has one rate of each tax code, and one value of each charge code: the
// charges of the model differ in nothing else.
func (m *model) adjustment(all map[string]*mAdjustment, key string, sent mSent, later map[string]bool,
	flush bool) string {
	t := all[key]
	if t == nil {
		if sent.title == nil {
			return "no title"
		}
		t = &mAdjustment{code: sent.code, active: true, items: map[string]bool{}}
	}
	everything := len(sent.items) == 1 && sent.items[0] == "all"
	known := slices.DeleteFunc(slices.Clone(sent.items), func(ref string) bool { return m.items[ref] == nil })
	if len(sent.items) > 0 && len(known) == 0 && !everything && (sent.active == nil || *sent.active) {
		return "no item"
	}
	all[key] = t
	take(&t.title, sent.title)
	if flush {
		t.active = true
	}
	take(&t.active, sent.active)
	if sent.clear {
		t.all, t.items = false, map[string]bool{}
	}
	items := asSet(known)
	if everything {
		items = nil
	}
	sameCode := func(other *mAdjustment) bool { return other != t && other.code == sent.code }
	isActive := func(key string) bool {
		active, listed := later[key]
		return active || !listed && all[key].active
	}
	for key, other := range all { // an inactive rate takes no items from an active one
		if sameCode(other) && isActive(key) && !t.active {
			everything = everything && !other.all
			maps.DeleteFunc(items, func(ref string, _ bool) bool { return other.items[ref] })
		}
	}
	for key, other := range all {
		if !sameCode(other) || isActive(key) && !t.active {
			continue
		}
		if everything {
			other.all, other.items = false, map[string]bool{}
		}
		for ref := range items {
			delete(other.items, ref)
		}
	}
	if everything {
		t.all, t.items = true, map[string]bool{}
	}
	if !t.all {
		maps.Copy(t.items, items)
	}
	return ""
}
