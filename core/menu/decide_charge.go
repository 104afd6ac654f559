package menu

import (
	"slices"
	"strings"
)

func (d *decider) tax(o *TaxObject, s *recordState[Tax]) objectResult {
	if s.record.Title == "" && o.Title == nil { // an earlier object of the request may have given it
		return failed("title is required to create a tax")
	}
	sent, problem := d.resolveAssignment(o.ItemRefIDs, o.ClearItems, o.Active)
	if problem != "" {
		return failed("%s", problem)
	}
	if !d.taxRates.admit(s, o.Active) {
		return tooManyActive(Taxes)
	}
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	s.changed = r.apply(o, d.flush[Taxes]) || s.changed
	links := d.links[TaxItem]
	before := links.mark()
	if blocking := d.taxRates.assign(s, sent); blocking != nil {
		d.warnOfBlocking(Taxes, r.Key(), blocking.record.Key())
	}
	return objectResult{changed: links.differs(before),
		warnings: unknownRefsWarning("item_ref_ids", Items, sent.unknown)}
}

// taxKind describes taxes.
var taxKind = rateKind[Tax]{
	exclusionKey: func(r *Tax) string { return r.Code },
	allItems:     func(r *Tax) *bool { return &r.AllItems },
}

// chargeKind describes charges.
var chargeKind = rateKind[Charge]{
	exclusionKey: (*Charge).ExclusionKey,
	allItems:     func(r *Charge) *bool { return &r.AllItems },
	lostItems: func(r *Charge, items int) (changed bool) {
		r.updateCleared(&changed, true, items)
		return changed
	},
}

// warnOfBlocking warns about an inactive tax or charge that does not get items of an active one.
func (d *decider) warnOfBlocking(kind Kind, inactive, active string) {
	d.warn(kind.String()+"[].item_ref_ids", "item_ref_ids", "of "+strings.TrimSpace(inactive)+
		", which is inactive, applies to none of "+strings.TrimSpace(active)+", which is active")
}

func (d *decider) charge(o *ChargeObject, s *recordState[Charge]) objectResult {
	if s.isNew && o.Title == nil {
		return failed("title is required to create a charge")
	}
	sent, problem := d.resolveAssignment(o.ItemRefIDs, o.ClearItems, o.Active)
	if problem != "" {
		return failed("%s", problem)
	}
	if !d.chargeRates.admit(s, o.Active) {
		return tooManyActive(Charges)
	}
	excluded, platforms := d.resolveList("excluded_platforms", o.ExcludedPlatforms)
	resolved := *o
	resolved.ExcludedPlatforms = excluded
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	links := d.links[ChargeItem]
	before, had := links.mark(), r.AllItems || len(links.of(r.ID)) > 0
	sent = d.chargeRates.apply(s, sent, func() { s.changed = r.apply(&resolved, d.flush[Charges]) || s.changed })
	if blocking := d.chargeRates.assign(s, sent); blocking != nil {
		d.warnOfBlocking(Charges, r.Key(), blocking.record.Key())
		had = true // without the items that it names, it applies to no order
	}
	return objectResult{warnings: slices.Concat(unknownRefsWarning("item_ref_ids", Items, sent.unknown), platforms,
		r.updateCleared(&s.changed, had, len(links.of(r.ID)))), changed: links.differs(before)}
}

// itemAssignment is the change of a tax or charge by clear_items and item_ref_ids. A list adds its items, so that a
// request for the items of one store takes nothing from those of another.
type itemAssignment struct {
	clear bool // first removes it from all items
	all   bool // applies it to all items
	items []int64

	unknown []string
}

// resolveAssignment resolves the items of a tax or charge. If all of them are unknown, the object fails, because a
// charge on the order without items would apply to every order. An object that deactivates the record does not fail.
func (d *decider) resolveAssignment(refs []string, clear bool, active *bool) (sent itemAssignment, problem string) {
	if len(refs) == 1 && refs[0] == AllItems {
		return itemAssignment{clear: clear, all: true}, ""
	}
	items, unknown := d.items.resolve(refs)
	if len(unknown) > 0 && len(items) == 0 && (active == nil || *active) {
		return sent, unknownRef("item_ref_ids", Items, unknown[0])
	}
	return itemAssignment{clear: clear, items: items, unknown: unknown}, ""
}

// apply changes the links of a record. A record on all items has no links.
func (a itemAssignment) apply(links *linkSet, id int64, onAll *bool) (changed bool) {
	all := a.all || *onAll && !a.clear
	if a.clear || a.all {
		links.clearFrom(id)
	}
	if !all {
		links.add(id, a.items)
	}
	set(&changed, onAll, &all)
	return changed
}
