package menu

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// model implements the rules of menus a second time, in the shortest way and by ref_id only. The property test compares
// the plans of Decide with it.
type model struct {
	platforms []string
	cats      map[string]*mCat
	items     map[string]*mItem
	groups    map[string]*mGroup
	options   map[string]*mOption
	taxes     map[string]*mAdjustment
	charges   map[string]*mAdjustment
	stores    map[string]*mStore
}

type mCat struct {
	name, parent string
	sort         int64
	active       bool
}

type mValues struct {
	price, external string
	sort, stock     int64
	recommended     bool
	available       bool
	platform        map[string]string
}

type mItem struct {
	title  string
	active bool
	mValues
	cats []string
}

type mGroup struct {
	title    string
	min, max int64
	multi    bool
	active   bool
	items    map[string]bool
}

type mOption struct {
	title             string
	price             string
	available, active bool
	groups, nested    map[string]bool
}

type mAdjustment struct {
	code, title string
	active, all bool
	items       map[string]bool
}

type mStore struct {
	cats    map[string]bool
	items   map[string]mValues
	options map[string][2]string // price, available
}

func newModel(h *memoryDB) *model {
	m := &model{platforms: h.platforms, cats: map[string]*mCat{}, items: map[string]*mItem{},
		groups:  map[string]*mGroup{},
		options: map[string]*mOption{}, taxes: map[string]*mAdjustment{}, charges: map[string]*mAdjustment{},
		stores: map[string]*mStore{}}
	for ref := range h.stores {
		m.stores[ref] = &mStore{map[string]bool{}, map[string]mValues{}, map[string][2]string{}}
	}
	return m
}

// result is the action of an object, followed by "!" if it failed.
type result string

func (m *model) apply(r Request) (results PerKind[[]result], deleted PerKind[int]) {
	st, master := m.stores[r.Scope.LocationRefID], r.Scope.Master()
	run := func(kind Kind, exists bool, do func() string) {
		switch outcome, action := do(), map[bool]string{true: "U", false: "A"}[exists]; outcome {
		case "":
			results[kind] = append(results[kind], result(action))
		case "D":
			results[kind] = append(results[kind], "D")
		default:
			results[kind] = append(results[kind], result(action+"!"))
		}
	}
	cats, cycles := m.inOrder(r.Categories), m.inCycles(r.Categories)
	for _, s := range cats {
		run(Categories, m.cats[*s.Object.RefID] != nil, func() string {
			if cycles[*s.Object.RefID] {
				return "cycle"
			}
			return m.category(s.Object, st, r.Flush[Categories] && master)
		})
	}
	results[Categories] = inRequestOrder(results[Categories], cats, r.Categories)
	if r.Flush[Categories] && master {
		for ref, c := range m.cats {
			deleted[Categories] += deactivateUnlisted(&c.active, slices.Contains(refIDs(r.Categories), ref))
		}
		for _, s := range m.stores {
			clear(s.cats)
		}
	}
	for _, s := range r.Items {
		run(Items, m.items[*s.Object.RefID] != nil, func() string { return m.item(s.Object, st, r.Flush[Items]) })
	}
	if r.Flush[Items] {
		deleted[Items] = m.flushItems(refIDs(r.Items), st)
	}
	for _, s := range r.OptionGroups {
		run(OptionGroups, m.groups[*s.Object.RefID] != nil,
			func() string { return m.group(s.Object, master, r.Flush[OptionGroups] && master) })
	}
	if r.Flush[OptionGroups] && master {
		for ref, g := range m.groups {
			deleted[OptionGroups] += deactivateUnlisted(&g.active, slices.Contains(refIDs(r.OptionGroups), ref))
		}
	}
	acyclic := m.acyclicOptions(r.Options, st)
	for _, s := range r.Options {
		run(Options, m.options[*s.Object.RefID] != nil,
			func() string { return m.option(s.Object, st, r.Flush[Options], acyclic, asSet(refIDs(r.Options))) })
	}
	if r.Flush[Options] {
		deleted[Options] = m.flushOptions(refIDs(r.Options), st)
	}
	m.adjustments(r, run, &results, &deleted)
	return results, deleted
}

func deactivateUnlisted(active *bool, listed bool) int {
	if !*active || listed {
		return 0
	}
	*active = false
	return 1
}

func (m *model) category(o CategoryObject, st *mStore, flush bool) string {
	c := m.cats[*o.RefID]
	if c == nil {
		if o.Name == nil {
			return "no name"
		}
		c = &mCat{active: true}
	}
	parent := c.parent
	if o.ParentRefID != nil {
		if parent = *o.ParentRefID; parent != "" {
			if m.cats[parent] == nil || m.cats[parent].parent != "" {
				return "bad parent"
			}
			for _, other := range m.cats {
				if other.parent == *o.RefID {
					return "two levels"
				}
			}
		}
	}
	m.cats[*o.RefID] = c
	c.parent = parent
	take(&c.name, o.Name)
	take(&c.sort, o.SortOrder)
	if flush {
		c.active = true
	}
	take(&c.active, o.Active)
	if st != nil {
		st.cats[*o.RefID] = true
	}
	return ""
}

func take[T any](field *T, sent *T) {
	if sent != nil {
		*field = *sent
	}
}

func (v *mValues) take(o ItemObject) {
	v.price = o.Price.String()
	if o.ExternalPrice != nil {
		v.external = o.ExternalPrice.String()
	}
	take(&v.sort, o.SortOrder)
	take(&v.stock, o.CurrentStock)
	take(&v.recommended, o.Recommended)
	take(&v.available, o.Available)
	v.platform = maps.Clone(v.platform)
	for _, p := range o.PlatformPricing {
		if v.platform == nil {
			v.platform = map[string]string{}
		}
		v.platform[p.Platform] = p.Price.String()
	}
}

func (m *model) item(o ItemObject, st *mStore, flush bool) string {
	ref := *o.RefID
	i, isNew := m.items[ref], m.items[ref] == nil
	if isNew {
		if o.Title == nil {
			return "no title"
		}
		i = &mItem{active: true, mValues: mValues{available: true, stock: -1}}
	}
	var cats []string // the known ones
	for _, cat := range o.CategoryRefIDs {
		if m.cats[cat] == nil {
			continue
		}
		cats = append(cats, cat)
		for _, other := range m.cats {
			if other.parent == cat && other.active {
				return "is a parent"
			}
		}
	}
	m.items[ref] = i
	take(&i.title, o.Title)
	if len(cats) > 0 || o.CategoryRefIDs != nil && len(o.CategoryRefIDs) == 0 {
		i.cats = cats
	}
	if o.ClearOptionGroups {
		for _, g := range m.groups {
			delete(g.items, ref)
		}
	}
	if st == nil {
		i.mValues.take(o)
		i.active = i.active || flush || isTrue(o.Available)
		return ""
	}
	if isNew {
		i.mValues.take(o)
		i.available, i.platform = true, nil
	}
	at, sold := st.items[ref]
	if o.SoldAtStore != nil && !*o.SoldAtStore {
		delete(st.items, ref)
		return map[bool]string{true: "D"}[sold]
	}
	if !sold {
		at = i.mValues
		at.platform = nil
	}
	at.take(o)
	st.items[ref] = at
	if isTrue(o.Available) {
		i.active, i.available = true, true
	}
	return ""
}

func (m *model) flushItems(listed []string, st *mStore) (deleted int) {
	if st != nil {
		for ref := range st.items {
			if !slices.Contains(listed, ref) {
				delete(st.items, ref)
				deleted++
			}
		}
		return deleted
	}
	gone := map[string]bool{}
	for ref, i := range m.items {
		if deactivateUnlisted(&i.active, slices.Contains(listed, ref)) == 1 {
			gone[ref] = true
		}
	}
	for _, s := range m.stores {
		for ref := range s.items {
			gone[ref] = true
		}
		clear(s.items)
	}
	return len(gone)
}

func (m *model) group(o OptionGroupObject, master, flush bool) string {
	g := m.groups[*o.RefID]
	if g == nil {
		if o.Title == nil {
			return "no title"
		}
		g = &mGroup{active: true, max: -1, items: map[string]bool{}}
	}
	low, high, multi := g.min, g.max, g.multi
	take(&low, o.MinSelectable)
	take(&high, o.MaxSelectable)
	take(&multi, o.MultiOptionsEnabled)
	if high != -1 && low > high || multi && low == 1 && high == 1 {
		return "limits"
	}
	var items []string // the known ones
	for _, ref := range o.ItemRefIDs {
		if m.items[ref] != nil {
			items = append(items, ref)
		}
	}
	if len(o.ItemRefIDs) > 0 && len(items) == 0 && onlyItems(o) {
		return "nothing to do"
	}
	m.groups[*o.RefID] = g
	g.min, g.max, g.multi = low, high, multi
	take(&g.title, o.Title)
	if flush {
		g.active = true
	}
	take(&g.active, o.Active)
	if master && (o.ClearItems || o.ClearItemRefIDs) {
		clear(g.items)
	}
	if master && o.ClearOptions {
		for _, other := range m.options {
			delete(other.groups, *o.RefID)
		}
	}
	for _, ref := range items {
		g.items[ref] = true
	}
	return ""
}

func onlyItems(o OptionGroupObject) bool {
	return o.Title == nil && o.Active == nil && o.MultiOptionsEnabled == nil && o.MinSelectable == nil &&
		o.MaxSelectable == nil && !o.ClearItems && !o.ClearItemRefIDs && !o.ClearOptions
}

// lines renders the whole state as sorted lines, for comparison.
func (m *model) lines() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for ref, c := range m.cats {
		say("category %s %s parent=%s sort=%d active=%t", ref, c.name, c.parent, c.sort, c.active)
	}
	for ref, i := range m.items {
		say("item %s %s active=%t cats=%v %s", ref, i.title, i.active, append([]string{}, i.cats...), i.format())
	}
	for ref, g := range m.groups {
		say("group %s %s %d-%d multi=%t active=%t items=%v", ref, g.title, g.min, g.max, g.multi, g.active,
			sortedKeys(g.items))
	}
	for ref, o := range m.options {
		say("option %s %s active=%t price=%s available=%t groups=%v nested=%v", ref, o.title, o.active, o.price,
			o.available,
			sortedKeys(o.groups), sortedKeys(o.nested))
	}
	for key, t := range m.taxes {
		say("tax %s %s active=%t all=%t items=%v", key, t.title, t.active, t.all, sortedKeys(t.items))
	}
	for key, t := range m.charges {
		say("charge %s %s active=%t all=%t items=%v", key, t.title, t.active, t.all, sortedKeys(t.items))
	}
	for ref, s := range m.stores {
		say("%s categories=%v", ref, sortedKeys(s.cats))
		for item, v := range s.items {
			say("%s item %s %s", ref, item, v.format())
		}
		for option, v := range s.options {
			say("%s option %s %v", ref, option, v)
		}
	}
	sort.Strings(out)
	return out
}

func (v mValues) format() string {
	var prices []string
	for platform, price := range v.platform {
		prices = append(prices, platform+":"+price)
	}
	sort.Strings(prices)
	return fmt.Sprintf("price=%s external=%s sort=%d stock=%d recommended=%t available=%t platforms=%s",
		v.price, v.external, v.sort, v.stock, v.recommended, v.available, strings.Join(prices, ","))
}

func sortedKeys[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }
