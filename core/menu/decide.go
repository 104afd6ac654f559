package menu

import (
	"fmt"
	"slices"
	"strings"
)

// Decide plans a request against the stored state: categories, items, option groups, options, taxes and charges. The
// order of objects in an array does not matter: references are resolved over the whole request and the state. Objects
// are independent: a failed object changes nothing and does not stop others. The function newID returns the id of a
// record to create; the id of an object that then fails stays unused. The cost grows with the request and with what a
// flush removes, but not with the number of stores.
func Decide(request Request, state State, newID func() int64) Plan {
	d := newDecider(&request, &state, newID)
	d.holdFlushes()
	run(d, request.Categories, d.categories, d.categoryOrder(), d.category)
	d.flushMasters(Categories)
	run(d, request.Items, d.items, nil, d.item)
	d.flushMasters(Items)
	d.flushStore(Items)
	run(d, request.OptionGroups, d.groups, nil, d.group)
	d.flushMasters(OptionGroups)
	d.nesting = newNestingGraph(d.links[OptionInGroup], d.links[NestedGroup], d.options.stored)
	d.nesting.acyclic = d.isAcyclic()
	run(d, request.Options, d.options, nil, d.option)
	d.flushMasters(Options)
	d.flushStore(Options)
	d.taxRates = newRateSet(taxKind, d.taxes, d.links[TaxItem],
		activations(d.taxes, request.Taxes, func(o *TaxObject) *bool { return o.Active }, d.flush[Taxes]),
		d.flush[Taxes])
	run(d, request.Taxes, d.taxes,
		allItemsFirst(request.Taxes, func(o *TaxObject) []string { return o.ItemRefIDs }), d.tax)
	d.flushMasters(Taxes)
	d.chargeRates = newRateSet(chargeKind, d.charges, d.links[ChargeItem],
		activations(d.charges, request.Charges, func(o *ChargeObject) *bool { return o.Active }, d.flush[Charges]),
		d.flush[Charges])
	run(d, request.Charges, d.charges,
		allItemsFirst(request.Charges, func(o *ChargeObject) []string { return o.ItemRefIDs }), d.charge)
	d.flushMasters(Charges)
	return d.finish()
}

// decider holds the state of a request while it is planned.
type decider struct {
	request *Request
	state   *State
	newID   func() int64
	master  bool
	plan    Plan

	cycles     map[string]string // by ref_id of a category: the cycle of parents that the request makes
	categories *recordSet[Category]
	items      *recordSet[Item]
	groups     *recordSet[OptionGroup]
	options    *recordSet[Option]
	taxes      *recordSet[Tax]
	charges    *recordSet[Charge]
	children   map[int64][]*recordState[Category] // candidates by parent; their records are authoritative
	links      PerRelation[*linkSet]
	nesting    *nestingGraph

	taxRates    *rateSet[Tax]
	chargeRates *rateSet[Charge]

	flush           PerKind[bool] // the flushes that take effect
	storeCategories map[int64]bool
	storeItems      *storeRefSet[ItemValues]
	storeOptions    *storeRefSet[OptionValues]
	ignored         map[ignoredFlag]int
	ignoredOrder    []ignoredFlag
}

func newDecider(request *Request, state *State, newID func() int64) *decider {
	d := &decider{
		request: request, state: state, newID: newID, master: request.Scope.Master(),
		plan: Plan{Scope: request.Scope, Warnings: slices.Clone(request.Warnings)}, flush: request.Flush,
		storeItems:   newStoreRefSet(state.Store.Items),
		storeOptions: newStoreRefSet(state.Store.Options),
		ignored:      map[ignoredFlag]int{},
	}
	d.buildRecordSets()
	d.storeCategories = make(map[int64]bool, len(state.Store.Categories))
	for _, id := range state.Store.Categories {
		d.storeCategories[id] = true
	}
	d.children = make(map[int64][]*recordState[Category])
	for _, s := range d.categories.stored {
		if parent := s.record.ParentID; parent != 0 {
			d.children[parent] = append(d.children[parent], s)
		}
	}
	expect := PerRelation[int]{len(request.Items), len(request.OptionGroups), len(request.Options), 0, 0, 0}
	for relation, links := range state.Links {
		d.links[relation] = newLinkSet(links, expect[relation])
	}
	return d
}

func (d *decider) buildRecordSets() {
	r, s := d.request, d.state
	d.categories = newRecordSet(recordKind[Category]{Categories, (*Category).name, (*Category).ref, newCategory},
		s.Categories, s.Others[Categories], len(r.Categories))
	d.items = newRecordSet(recordKind[Item]{Items, (*Item).name, (*Item).ref, newItem},
		s.Items, s.Others[Items], len(r.Items))
	d.groups = newRecordSet(
		recordKind[OptionGroup]{OptionGroups, (*OptionGroup).name, (*OptionGroup).ref, newOptionGroup},
		s.OptionGroups, s.Others[OptionGroups], len(r.OptionGroups))
	d.options = newRecordSet(recordKind[Option]{Options, (*Option).name, (*Option).ref, newOption},
		s.Options, s.Others[Options], len(r.Options))
	d.taxes = newRecordSet(recordKind[Tax]{Taxes, (*Tax).Key, (*Tax).ref,
		func(string) Tax { return Tax{Ref: Ref{Active: true}} }}, s.Taxes, nil, len(r.Taxes))
	d.charges = newRecordSet(recordKind[Charge]{Charges, (*Charge).Key, (*Charge).ref,
		func(string) Charge { return Charge{Ref: Ref{Active: true}} }}, s.Charges, nil, len(r.Charges))
	markListed(r.Categories, d.categories)
	markListed(r.Items, d.items)
	markListed(r.OptionGroups, d.groups)
	markListed(r.Options, d.options)
	markListed(r.Taxes, d.taxes)
	markListed(r.Charges, d.charges)
}

// markListed marks the stored records that the request names.
func markListed[T, R any, P object[T]](submitted []Submitted[T], s *recordSet[R]) {
	for i := range submitted {
		if known := s.byKey[P(&submitted[i].Object).identity()]; known != nil {
			known.listed = true
		}
	}
}

// objectResult is the result of one object.
type objectResult struct {
	problem  string
	changed  bool // something other than the record differs
	removed  bool // the store reference was removed
	warnings []Warning
}

func failed(format string, args ...any) objectResult {
	return objectResult{problem: strings.ToValidUTF8(fmt.Sprintf(format, args...), "?")}
}

// run plans the objects of one kind in an order of their indices, or as submitted if it is nil. The function decide
// changes nothing unless the whole object is valid.
func run[T, R any, P object[T]](d *decider, submitted []Submitted[T], s *recordSet[R], order []int,
	decide func(*T, *recordState[R]) objectResult) {
	outcomes, stats := make([]Outcome, len(submitted)), &d.plan.Stats[s.kind]
	for n := range submitted {
		i := n
		if order != nil {
			i = order[n]
		}
		o := &submitted[i].Object
		key := P(o).identity()
		at := s.byKey[key]
		created := at == nil
		if created {
			at = &recordState[R]{record: s.newRecord(key), isNew: true, listed: true}
			s.ref(&at.record).ID = d.newID()
		}
		if at.partial {
			panic("menu: the state holds only the identifiers of " + s.kind.String() + " " + key)
		}
		earlier := at.changed // by another object of the request
		at.changed = false
		if _, may := any(P(o)).(inheritor); may && !at.applied {
			inheriting := *o
			o = &inheriting
			any(P(o)).(inheritor).inherit()
		}
		v := decide(o, at)
		outcome := Outcome{Action: "U", ID: s.ref(&at.record).ID, Message: v.problem}
		outcome.Changed = v.problem == "" && (created || at.changed || v.changed)
		at.changed = at.changed || earlier
		if created {
			outcome.Action = "A"
		}
		switch {
		case v.problem != "":
			outcome.ID = 0
			stats.Errors++
			outcomes[i] = outcome
			continue
		case created:
			s.byKey[key] = at
			stats.Created++
		case v.removed:
			outcome.Action = "D"
			stats.Deleted++
		default:
			stats.Updated++
		}
		s.markTouched(at)
		at.applied = true
		outcome.Warnings = slices.Concat(submitted[i].Warnings, v.warnings)
		outcomes[i] = outcome
	}
	if submitted != nil {
		d.plan.Outcomes[s.kind] = outcomes
	}
}

// finish collects the results.
func (d *decider) finish() Plan {
	p := &d.plan
	p.Categories, p.Items, p.OptionGroups = d.categories.changes(), d.items.changes(), d.groups.changes()
	p.Options, p.Taxes, p.Charges = d.options.changes(), d.taxes.changes(), d.charges.changes()
	for relation := range p.Links {
		p.Links[relation] = d.links[relation].diff()
	}
	p.Store.Items, p.Store.Options = d.storeItems.changes(), d.storeOptions.changes()
	d.warnOfIgnoredFlags()
	d.warnOfItems()
	return *p
}
