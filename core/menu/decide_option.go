package menu

import "slices"

func (d *decider) group(o *OptionGroupObject, s *recordState[OptionGroup]) objectResult {
	if s.record.Title == "" && o.Title == nil { // an earlier object of the request may have given it
		return failed("title is required to create an option group")
	}
	items, unknown := d.items.resolve(o.ItemRefIDs)
	if len(unknown) > 0 && len(items) == 0 && o.onlyItems() {
		return failed("%s", unknownRef("item_ref_ids", Items, unknown[0]))
	}
	before := s.record
	s.changed = s.record.apply(o, d.flush[OptionGroups])
	if field, rule := s.record.wrong(); rule != "" {
		s.record, s.changed = before, false
		return failed("%s %s", field, rule)
	}
	id, ofItems, ofOptions := s.record.ID, d.links[GroupItem], d.links[OptionInGroup]
	beforeItems, beforeOptions := ofItems.mark(), ofOptions.mark()
	if d.mayClear(OptionGroups, "clear_item_ref_ids", o.ClearItemRefIDs) ||
		d.mayClear(OptionGroups, "clear_items", o.ClearItems) {
		ofItems.clearFrom(id)
	}
	if d.mayClear(OptionGroups, "clear_options", o.ClearOptions) {
		ofOptions.clearTo(id)
	}
	ofItems.add(id, items)
	return objectResult{changed: ofItems.differs(beforeItems) || ofOptions.differs(beforeOptions),
		warnings: unknownRefsWarning("item_ref_ids", Items, unknown)}
}

func (d *decider) option(o *OptionObject, s *recordState[Option]) objectResult {
	if s.isNew && o.Title == nil {
		return failed("title is required to create an option")
	}
	groups, unknown := d.groups.resolve(o.OptGrpRefIDs)
	nested, unknownNested := d.groups.resolve(o.NestedOptGrps)
	images, platforms := d.resolveImages(o.Images)
	r := &s.record
	links := optionLinks{
		groups: groups, nested: nested,
		clearGroups: d.mayClear(Options, "clear_opt_grp_ref_ids", o.ClearOptGrpRefIDs) ||
			d.mayClear(Options, "clear_opt_grps", o.ClearOptGrps),
		clearNested: d.mayClear(Options, "clear_nested_opt_grps", o.ClearNestedOptGrps),
	}
	if problem := d.resolveCycles(r.ID, &links); problem != "" {
		return failed("%s", problem)
	}
	s.changed = r.apply(o, images)
	if d.master || s.isNew {
		s.changed = r.OptionValues.apply(o) || s.changed
	}
	if d.master {
		setOptional(&s.changed, &r.SoldAtStore, o.SoldAtStore)
		activate(&s.changed, &r.Active, nil, d.flush[Options] || isTrue(o.Available))
	} else if s.isNew {
		r.Available = true // the sent value was for the store
	}
	v := objectResult{changed: d.linkOption(s, links), warnings: slices.Concat(
		unknownRefsWarning("opt_grp_ref_ids", OptionGroups, unknown),
		unknownRefsWarning("nested_opt_grps", OptionGroups, unknownNested),
		platforms)}
	if d.master {
		return v
	}
	if o.SoldAtStore != nil && !*o.SoldAtStore {
		v.removed = d.remove(Options, r.Ref, d.storeOptions.remove(r.ID))
		v.changed = v.changed || v.removed
		return v
	}
	v.changed = d.storeOptions.upsert(r.ID, r.OptionValues,
		func(values *OptionValues) bool { return values.apply(o) }) ||
		v.changed
	s.changed = enable(o.Available, &r.Active, &r.Available) || s.changed
	return v
}

// optionLinks are the links of an option to groups.
type optionLinks struct {
	groups, nested           []int64
	clearGroups, clearNested bool
	displaced                []int64 // other options that lose their nested groups in its favour
}

func (d *decider) linkOption(s *recordState[Option], links optionLinks) (changed bool) {
	id, inGroups, underneath := s.record.ID, d.links[OptionInGroup], d.links[NestedGroup]
	for _, other := range links.displaced {
		underneath.clearFrom(other)
		d.warn("options[].nested_opt_grps", "nested_opt_grps", "of "+quote(d.nesting.options[other].record.RefID)+
			", which is inactive, are cleared: with those of "+quote(s.record.RefID)+
			" they would create a cycle of option groups")
	}
	beforeGroups, beforeNested := inGroups.mark(), underneath.mark()
	if links.clearGroups {
		inGroups.clearFrom(id)
	}
	if links.clearNested {
		underneath.clearFrom(id)
	}
	inGroups.add(id, links.groups)
	underneath.add(id, links.nested)
	d.nesting.update(s)
	return inGroups.differs(beforeGroups) || underneath.differs(beforeNested)
}
