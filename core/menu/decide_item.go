package menu

func (d *decider) item(o *ItemObject, s *recordState[Item]) objectResult {
	if s.isNew && o.Title == nil {
		return failed("title is required to create an item")
	}
	categories, unknown, problem := d.categoriesOf(o)
	if problem != "" {
		return failed("%s", problem)
	}
	o, platforms := d.resolveItem(o)
	r := &s.record
	s.changed = r.apply(o)
	if d.master || s.isNew {
		s.changed = r.ItemValues.apply(o) || s.changed
	}
	if d.master {
		setOptional(&s.changed, &r.SoldAtStore, o.SoldAtStore)
		activate(&s.changed, &r.Active, nil, d.flush[Items] || isTrue(o.Available))
	} else if s.isNew {
		r.PlatformPricing, r.Available = nil, true // those values were for the store
	}
	v := objectResult{
		changed:  d.linkItem(o, r.ID, categories, len(unknown) > 0),
		warnings: append(unknownRefsWarning("category_ref_ids", Categories, unknown), platforms...),
	}
	if d.master {
		return v
	}
	if o.SoldAtStore != nil && !*o.SoldAtStore {
		v.removed = d.remove(Items, r.Ref, d.storeItems.remove(r.ID))
		v.changed = v.changed || v.removed
		return v
	}
	ofMaster := r.ItemValues
	ofMaster.PlatformPricing = nil
	v.changed = d.storeItems.upsert(r.ID, ofMaster,
		func(values *ItemValues) bool { return values.apply(o) }) || v.changed
	s.changed = enable(o.Available, &r.Active, &r.Available) || s.changed
	return v
}

// linkItem replaces the categories of an item, unless the request names only unknown ones.
func (d *decider) linkItem(o *ItemObject, id int64, categories []int64, someUnknown bool) (changed bool) {
	inCategories, inGroups := d.links[ItemCategory], d.links[GroupItem]
	beforeCategories, beforeGroups := inCategories.mark(), inGroups.mark()
	if o.CategoryRefIDs != nil && (len(categories) > 0 || !someUnknown) {
		inCategories.replace(id, categories)
	}
	if o.ClearOptionGroups {
		inGroups.clearTo(id)
	}
	return inCategories.differs(beforeCategories) || inGroups.differs(beforeGroups)
}

// enable also sets the master's fields if the object makes something available at a store.
func enable(available *bool, ofMaster ...*bool) (changed bool) {
	if isTrue(available) {
		for _, field := range ofMaster {
			set(&changed, field, available)
		}
	}
	return changed
}

func isTrue(b *bool) bool { return b != nil && *b }
