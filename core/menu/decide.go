package menu

import (
	"fmt"
	"strings"
)

// Decide plans a request against the stored state: categories, items, option
// groups, options, taxes, charges, in the order of the request. Each object
// stands alone: one that fails leaves nothing of itself and stops no other.
// newID gives the id of a record that is to be created; one given to an object
// that then fails is not used. The cost grows with the objects of the request
// and with what a flush takes out, not with the number of stores.
func Decide(request Request, state State, newID func() int64) Plan {
	d := newDecider(&request, &state, newID)
	d.holdFlushes()
	run(d, request.Categories, d.categories, d.category)
	d.flushMasters(Categories)
	run(d, request.Items, d.items, d.item)
	d.flushMasters(Items)
	d.flushStore(Items)
	run(d, request.OptionGroups, d.groups, d.group)
	d.flushMasters(OptionGroups)
	d.nesting = newNesting(d.links[OptionInGroup], d.links[GroupUnderneath], d.options.stored)
	run(d, request.Options, d.options, d.option)
	d.flushMasters(Options)
	d.flushStore(Options)
	d.rates = newRates(d.taxes, state.Links[TaxItem])
	run(d, request.Taxes, d.taxes, d.tax)
	d.flushMasters(Taxes)
	run(d, request.Charges, d.charges, d.charge)
	d.flushMasters(Charges)
	return d.finish()
}

// decider is a request while it is decided.
type decider struct {
	request *Request
	state   *State
	newID   func() int64
	master  bool
	plan    Plan

	platforms  map[string]bool
	categories *shelf[Category]
	items      *shelf[Item]
	groups     *shelf[OptionGroup]
	options    *shelf[Option]
	taxes      *shelf[Tax]
	charges    *shelf[Charge]
	children   map[int64][]*slot[Category] // candidates by parent; their records have the word
	links      PerRelation[*linkBook]
	nesting    *nesting
	rates      *rates

	flush        PerKind[bool] // the flushes that take effect
	atCategories map[int64]bool
	atItems      *counter[ItemValues]
	atOptions    *counter[OptionValues]
	ignored      map[ignoredFlag]int
	ignoredOrder []ignoredFlag
}

func newDecider(request *Request, state *State, newID func() int64) *decider {
	d := &decider{
		request: request, state: state, newID: newID, master: request.Scope.Master(),
		plan: Plan{Scope: request.Scope}, flush: request.Flush,
		platforms: make(map[string]bool, len(state.Platforms)),
		atItems:   newCounter(state.Store.Items),
		atOptions: newCounter(state.Store.Options),
		ignored:   map[ignoredFlag]int{},
	}
	for _, name := range state.Platforms {
		d.platforms[name] = true
	}
	d.fillShelves()
	d.atCategories = make(map[int64]bool, len(state.Store.Categories))
	for _, id := range state.Store.Categories {
		d.atCategories[id] = true
	}
	d.children = make(map[int64][]*slot[Category])
	for _, s := range d.categories.stored {
		if parent := s.record.ParentID; parent != 0 {
			d.children[parent] = append(d.children[parent], s)
		}
	}
	expect := PerRelation[int]{len(request.Items), len(request.OptionGroups), len(request.Options), 0, 0, 0}
	for relation, links := range state.Links {
		d.links[relation] = newLinkBook(links, expect[relation])
	}
	return d
}

func (d *decider) fillShelves() {
	r, s := d.request, d.state
	d.categories = newShelf(Categories, s.Categories, s.Others[Categories], len(r.Categories),
		(*Category).name, (*Category).ref, newCategory)
	d.items = newShelf(Items, s.Items, s.Others[Items], len(r.Items),
		(*Item).name, (*Item).ref, newItem)
	d.groups = newShelf(OptionGroups, s.OptionGroups, s.Others[OptionGroups], len(r.OptionGroups),
		(*OptionGroup).name, (*OptionGroup).ref, newOptionGroup)
	d.options = newShelf(Options, s.Options, s.Others[Options], len(r.Options),
		(*Option).name, (*Option).ref, newOption)
	d.taxes = newShelf(Taxes, s.Taxes, nil, len(r.Taxes), (*Tax).Key,
		(*Tax).ref, func(string) Tax { return Tax{Ref: Ref{Active: true}} })
	d.charges = newShelf(Charges, s.Charges, nil, len(r.Charges), (*Charge).Key,
		(*Charge).ref, func(string) Charge { return Charge{Ref: Ref{Active: true}} })
	mark(r.Categories, d.categories)
	mark(r.Items, d.items)
	mark(r.OptionGroups, d.groups)
	mark(r.Options, d.options)
	mark(r.Taxes, d.taxes)
	mark(r.Charges, d.charges)
}

// mark notes which of the stored records the request names.
func mark[T, R any, P object[T]](submitted []Submitted[T], s *shelf[R]) {
	for i := range submitted {
		if known := s.byKey[P(&submitted[i].Object).identity()]; known != nil {
			known.listed = true
		}
	}
}

// verdict is what became of one object.
type verdict struct {
	problem string
	changed bool // something besides the record differs
	removed bool // the store reference is gone
}

func failed(format string, args ...any) verdict {
	return verdict{problem: strings.ToValidUTF8(fmt.Sprintf(format, args...), "?")}
}

// run decides the objects of one kind. decide changes the record, and all else,
// only after everything about the object was found right.
func run[T, R any, P object[T]](d *decider, submitted []Submitted[T], s *shelf[R], decide func(*T, *slot[R]) verdict) {
	outcomes, stats := make([]Outcome, 0, len(submitted)), &d.plan.Stats[s.kind]
	for i := range submitted {
		o := &submitted[i].Object
		key := P(o).identity()
		at := s.byKey[key]
		if at == nil {
			at = &slot[R]{record: s.blank(key), isNew: true, listed: true}
			s.ref(&at.record).ID = d.newID()
		}
		if at.partial {
			panic("menu: the state holds only the identifiers of " + s.kind.String() + " " + key)
		}
		v := decide(o, at)
		outcome := Outcome{Action: "U", ID: s.ref(&at.record).ID, Message: v.problem}
		outcome.Changed = v.problem == "" && (at.isNew || at.changed || v.changed)
		if at.isNew {
			outcome.Action = "A"
		}
		switch {
		case v.problem != "":
			outcome.ID = 0
			stats.Errors++
			outcomes = append(outcomes, outcome)
			continue
		case at.isNew:
			s.byKey[key] = at
			stats.Created++
		case v.removed:
			outcome.Action = "D"
			stats.Deleted++
		default:
			stats.Updated++
		}
		s.touch(at)
		outcomes = append(outcomes, outcome)
	}
	if submitted != nil {
		d.plan.Outcomes[s.kind] = outcomes
	}
}

// finish gathers what was decided.
func (d *decider) finish() Plan {
	p := &d.plan
	p.Categories, p.Items, p.OptionGroups = d.categories.changes(), d.items.changes(), d.groups.changes()
	p.Options, p.Taxes, p.Charges = d.options.changes(), d.taxes.changes(), d.charges.changes()
	for relation := range p.Links {
		p.Links[relation] = d.links[relation].change()
	}
	p.Store.Items, p.Store.Options = d.atItems.changes(), d.atOptions.changes()
	d.warnOfIgnoredFlags()
	return *p
}
