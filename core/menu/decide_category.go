package menu

import "slices"

func (d *decider) category(o *CategoryObject, s *recordState[Category]) objectResult {
	if s.isNew && o.Name == nil {
		return failed("name is required to create a category")
	}
	parent, problem := d.parentOf(o, s)
	if problem != "" {
		return failed("%s", problem)
	}
	if parent != s.record.ParentID && parent != 0 {
		d.children[parent] = append(d.children[parent], s)
	}
	s.changed = s.record.apply(o, parent, d.flush[Categories])
	v := objectResult{}
	if id := s.record.ID; !d.master && !d.storeCategories[id] {
		d.storeCategories[id] = true
		d.plan.Store.Categories = append(d.plan.Store.Categories, id)
		v.changed = true
	}
	return v
}

// parentOf returns the new parent of the category, or 0 for none. There is one level of sub-categories.
func (d *decider) parentOf(o *CategoryObject, s *recordState[Category]) (id int64, problem string) {
	if o.ParentRefID == nil {
		return s.record.ParentID, ""
	}
	if *o.ParentRefID == "" {
		return 0, ""
	}
	if cycle := d.cycles[*o.RefID]; cycle != "" {
		return 0, "parent_ref_id creates a cycle of categories: " + cycle
	}
	parent := d.categories.byKey[*o.ParentRefID]
	switch {
	case parent == nil:
		return 0, unknownRef("parent_ref_id", Categories, *o.ParentRefID)
	case parent.record.ParentID != 0:
		return 0, "parent_ref_id names the category " + quote(*o.ParentRefID) +
			", which is a sub-category: only one level of sub-categories is supported"
	case d.hasChild(s.record.ID, func(*Category) bool { return true }):
		return 0,
			"parent_ref_id is set on a category with sub-categories: only one level is supported"
	}
	return parent.record.ID, ""
}

// hasChild reports whether a category has a sub-category that passes the test.
func (d *decider) hasChild(id int64, test func(*Category) bool) bool {
	return slices.ContainsFunc(d.children[id], func(child *recordState[Category]) bool {
		return child.record.ParentID == id && test(&child.record)
	})
}

// categoriesOf resolves the categories of an item. A category with active sub-categories cannot contain items itself.
func (d *decider) categoriesOf(o *ItemObject) (ids []int64, unknown []string, problem string) {
	ids, unknown = d.categories.resolve(o.CategoryRefIDs)
	for _, ref := range o.CategoryRefIDs {
		at := d.categories.byKey[ref]
		if at != nil && d.hasChild(at.record.ID, func(child *Category) bool { return child.Active }) {
			return nil, nil, "category_ref_ids names the category " + quote(ref) +
				", which has sub-categories: use those instead"
		}
	}
	return ids, unknown, ""
}
