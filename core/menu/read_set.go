package menu

import "slices"

// KindReadSet specifies which entities of one kind a request depends on.
type KindReadSet struct {
	Named    []string // ref_ids of the submitted objects: full records
	Referred []string // ref_ids that other objects refer to: identifiers suffice
	Active   bool     // also every active entity of the business: identifiers suffice
	AtStore  bool     // also every reference of the addressed store, and the identifiers of their masters
}

// ReadSet specifies the stored state that a request depends on. In addition to its fields, these rules apply:
//
//   - Referred categories need full records. Named and referred categories also need their sub-categories.
//   - Taxes and charges, if needed, are loaded completely, with their links.
//   - The links from every other named entity are needed.
//   - The links to ClearedItems and ClearedGroups are needed.
//   - A store request also needs the store's references to the entities it names.
type ReadSet struct {
	Entities      PerKind[KindReadSet] // for Taxes and Charges it only matters whether they were sent
	ClearedItems  []string             // ref_ids: GroupItem links to them
	ClearedGroups []string             // ref_ids: OptionInGroup links to them
	// Nesting requests the links in which a cycle can exist: every NestedGroup link of the business, and the
	// OptionInGroup links of their options. It also requests the identifiers of these options and of the groups on both
	// ends.
	Nesting bool
}

// ReadSet returns what to load before Decide.
func (r *Request) ReadSet() ReadSet {
	n := r.namedReadSet()
	n.Nesting = len(r.Options) > 0

	var referred PerKind[[]string]
	for i := range r.Categories {
		if parent := r.Categories[i].Object.ParentRefID; parent != nil && *parent != "" {
			referred[Categories] = append(referred[Categories], *parent)
		}
	}
	for i := range r.Items {
		o := &r.Items[i].Object
		referred[Categories] = append(referred[Categories], o.CategoryRefIDs...)
		if o.ClearOptionGroups {
			n.ClearedItems = append(n.ClearedItems, *o.RefID)
		}
	}
	for i := range r.OptionGroups {
		o := &r.OptionGroups[i].Object
		referred[Items] = append(referred[Items], o.ItemRefIDs...)
		if o.ClearOptions && r.Scope.Master() {
			n.ClearedGroups = append(n.ClearedGroups, *o.RefID)
		}
	}
	for i := range r.Options {
		o := &r.Options[i].Object
		referred[OptionGroups] = append(referred[OptionGroups], o.OptGrpRefIDs...)
		referred[OptionGroups] = append(referred[OptionGroups], o.NestedOptGrps...)
	}
	for i := range r.Taxes {
		referred[Items] = append(referred[Items], r.Taxes[i].Object.ItemRefIDs...)
	}
	for i := range r.Charges {
		referred[Items] = append(referred[Items], r.Charges[i].Object.ItemRefIDs...)
	}
	for kind := range referred {
		w := &n.Entities[kind]
		w.Referred = without(referred[kind], w.Named)
		w.Active = w.Active || r.Flush[kind] && r.Scope.Master()
		w.AtStore = r.Flush[kind] && !r.Scope.Master() && (Kind(kind) == Items || Kind(kind) == Options)
	}
	return n
}

// namedReadSet returns what to load before Failed: only which of the submitted objects exist.
func (r *Request) namedReadSet() ReadSet {
	var n ReadSet
	n.Entities[Categories].Named = refIDs[CategoryObject](r.Categories)
	n.Entities[Items].Named = refIDs[ItemObject](r.Items)
	n.Entities[OptionGroups].Named = refIDs[OptionGroupObject](r.OptionGroups)
	n.Entities[Options].Named = refIDs[OptionObject](r.Options)
	n.Entities[Taxes].Active = r.Taxes != nil
	n.Entities[Charges].Active = r.Charges != nil
	return n
}

// refIDs returns the ref_ids of objects. Only unchecked objects may lack them.
func refIDs[T any, P object[T]](submitted []Submitted[T]) []string {
	list := make([]string, 0, len(submitted))
	for i := range submitted {
		if refID := P(&submitted[i].Object).refID(); refID != nil {
			list = append(list, *refID)
		}
	}
	return list
}

// without returns the distinct, sorted refs that are not in named.
func without(refs, named []string) []string {
	known := make(map[string]bool, len(named))
	for _, ref := range named {
		known[ref] = true
	}
	slices.Sort(refs)
	return slices.DeleteFunc(slices.Compact(refs), func(ref string) bool { return known[ref] })
}
