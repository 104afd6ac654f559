package menu

import "slices"

func (d *decider) tax(o *TaxObject, s *recordState[Tax]) objectResult {
	if s.isNew && o.Title == nil {
		return failed("title is required to create a tax")
	}
	sent, problem := d.resolveAssignment(o.ItemRefIDs, o.ClearItems, o.Active)
	if problem != "" {
		return failed("%s", problem)
	}
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	s.changed = r.apply(o, d.flush[Taxes]) || s.changed
	links := d.links[TaxItem]
	before := links.mark()
	if blocking := d.rates.assign(links, s, sent); blocking != nil {
		d.warn("taxes[].item_ref_ids", "item_ref_ids",
			"of "+r.Key()+", which is inactive, applies to none of "+blocking.record.Key()+", which is active")
	}
	return objectResult{changed: links.differs(before),
		warnings: unknownRefsWarning("item_ref_ids", Items, sent.unknown)}
}

func (d *decider) charge(o *ChargeObject, s *recordState[Charge]) objectResult {
	if s.isNew && o.Title == nil {
		return failed("title is required to create a charge")
	}
	sent, problem := d.resolveAssignment(o.ItemRefIDs, o.ClearItems, o.Active)
	if problem != "" {
		return failed("%s", problem)
	}
	excluded, platforms := d.resolveList("excluded_platforms", o.ExcludedPlatforms)
	resolved := *o
	resolved.ExcludedPlatforms = excluded
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	s.changed = r.apply(&resolved, d.flush[Charges])
	links := d.links[ChargeItem]
	before, had := links.mark(), r.AllItems || len(links.of(r.ID)) > 0
	s.changed = sent.apply(links, r.ID, &r.AllItems) || s.changed
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
