package menu

import "slices"

// inOrder returns the categories with parents before their sub-categories. If a category becomes a sub-category, those
// that leave it come first.
func (m *model) inOrder(submitted []Submitted[CategoryObject]) (order []Submitted[CategoryObject]) {
	seen := map[string]bool{}
	var visit func(ref string)
	visit = func(ref string) {
		at := slices.IndexFunc(submitted, func(s Submitted[CategoryObject]) bool { return *s.Object.RefID == ref })
		if at < 0 || seen[ref] {
			return
		}
		seen[ref] = true
		if parent := valueOf(submitted[at].Object.ParentRefID); parent != "" {
			visit(parent)
			for _, s := range submitted {
				child := m.cats[*s.Object.RefID]
				if child != nil && child.parent == ref && s.Object.ParentRefID != nil && *s.Object.ParentRefID != ref {
					visit(*s.Object.RefID)
				}
			}
		}
		order = append(order, submitted[at])
	}
	for _, s := range submitted {
		visit(*s.Object.RefID)
	}
	return order
}

// inCycles returns the categories that are their own ancestors by the parents in a request.
func (m *model) inCycles(submitted []Submitted[CategoryObject]) map[string]bool {
	parents, cycles := map[string]string{}, map[string]bool{}
	for _, s := range submitted {
		parents[*s.Object.RefID] = valueOf(s.Object.ParentRefID)
	}
	for ref, c := range m.cats { // a category that keeps a sub-category becomes none
		if sent := slices.IndexFunc(submitted, func(s Submitted[CategoryObject]) bool {
			return *s.Object.RefID == ref && s.Object.ParentRefID != nil && *s.Object.ParentRefID != c.parent
		}); sent < 0 {
			delete(parents, c.parent)
		}
	}
	for ref := range parents {
		at := ref
		for range submitted {
			if at = parents[at]; at == ref {
				cycles[ref] = true
			}
		}
	}
	return cycles
}

// onAllFirst returns the taxes or charges with those on all items first.
func onAllFirst[T any](submitted []Submitted[T], items func(*T) []string) (order []Submitted[T]) {
	for _, all := range []bool{true, false} {
		for _, s := range submitted {
			if slices.Equal(items(&s.Object), []string{AllItems}) == all {
				order = append(order, s)
			}
		}
	}
	return order
}

// inRequestOrder returns the results of objects in the order of the request.
func inRequestOrder[T any, P object[T]](results []result, planned, submitted []Submitted[T]) []result {
	list := make([]result, len(results))
	for i := range submitted {
		at := slices.IndexFunc(planned, func(s Submitted[T]) bool {
			return P(&s.Object).identity() == P(&submitted[i].Object).identity()
		})
		list[i] = results[at]
	}
	return list
}

func (m *model) adjustments(r Request, run func(Kind, bool, func() string), results *PerKind[[]result],
	deleted *PerKind[int]) {
	taxes := onAllFirst(r.Taxes, func(o *TaxObject) []string { return o.ItemRefIDs })
	charges := onAllFirst(r.Charges, func(o *ChargeObject) []string { return o.ItemRefIDs })
	later := [2]map[string]bool{{}, {}} // whether a stored tax or charge will be active
	activation := func(stored *mAdjustment, flush bool, sent *bool, into map[string]bool, key string) {
		if stored != nil {
			active := stored.active || flush && r.Scope.Master()
			take(&active, sent)
			into[key] = active
		}
	}
	for _, s := range taxes {
		key := s.Object.identity()
		activation(m.taxes[key], r.Flush[Taxes], s.Object.Active, later[0], key)
	}
	for _, s := range charges {
		key := s.Object.identity()
		activation(m.charges[key], r.Flush[Charges], s.Object.Active, later[1], key)
	}
	for _, s := range taxes {
		o := s.Object
		key := o.identity()
		run(Taxes, m.taxes[key] != nil, func() string {
			sent := mSent{*o.Code, o.Title, o.Active, o.ClearItems, o.ItemRefIDs}
			return m.adjustment(m.taxes, key, sent, later[0], r.Flush[Taxes] && r.Scope.Master())
		})
	}
	results[Taxes] = inRequestOrder(results[Taxes], taxes, r.Taxes)
	for _, s := range charges {
		o := s.Object
		key := o.identity()
		run(Charges, m.charges[key] != nil, func() string {
			sent := mSent{*o.Code, o.Title, o.Active, o.ClearItems, o.ItemRefIDs}
			return m.adjustment(m.charges, key, sent, later[1], r.Flush[Charges] && r.Scope.Master())
		})
	}
	results[Charges] = inRequestOrder(results[Charges], charges, r.Charges)
	if r.Flush[Taxes] && r.Scope.Master() {
		for key, t := range m.taxes {
			deleted[Taxes] += deactivateUnlisted(&t.active,
				slices.ContainsFunc(r.Taxes, func(s Submitted[TaxObject]) bool { return s.Object.identity() == key }))
		}
	}
	if r.Flush[Charges] && r.Scope.Master() {
		for key, t := range m.charges {
			deleted[Charges] += deactivateUnlisted(&t.active,
				slices.ContainsFunc(r.Charges,
					func(s Submitted[ChargeObject]) bool { return s.Object.identity() == key }))
		}
	}
}
