package menu

func (d *decider) tax(o *TaxObject, s *slot[Tax]) verdict {
	if s.isNew && o.Title == nil {
		return failed("title is required to create a tax")
	}
	all, items, problem := d.fallsOn(o.ItemRefIDs)
	if problem != "" {
		return failed("%s", problem)
	}
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	s.changed = r.apply(o, d.flush[Taxes]) || s.changed
	book := d.links[TaxItem]
	before := book.mark()
	if o.ItemRefIDs != nil {
		if kept := d.rates.give(book, s, all, items); kept != nil {
			d.warn("taxes[].item_ref_ids", "item_ref_ids", "of "+r.Key()+", which is switched off, takes nothing from "+kept.record.Key()+", which is active")
		}
	}
	return verdict{changed: book.differs(before)}
}

func (d *decider) charge(o *ChargeObject, s *slot[Charge]) verdict {
	if s.isNew && o.Title == nil {
		return failed("title is required to create a charge")
	}
	all, items, problem := d.fallsOn(o.ItemRefIDs)
	if problem == "" {
		problem = d.unknownPlatforms("excluded_platforms", o.ExcludedPlatforms)
	}
	if problem != "" {
		return failed("%s", problem)
	}
	r := &s.record
	if s.isNew {
		r.Code, r.Structure = *o.Code, *o.Structure
	}
	s.changed = r.apply(o, d.flush[Charges])
	book := d.links[ChargeItem]
	before := book.mark()
	if o.ItemRefIDs != nil {
		book.replace(r.ID, items)
		set(&s.changed, &r.AllItems, &all)
	}
	return verdict{changed: book.differs(before)}
}

// fallsOn resolves the items of a tax or charge.
func (d *decider) fallsOn(refs []string) (all bool, items []int64, problem string) {
	if len(refs) == 1 && refs[0] == AllItems {
		return true, nil, ""
	}
	items, problem = d.items.resolve("item_ref_ids", refs)
	return false, items, problem
}
