package menu

import "slices"

// Wanted is which entities of one kind a request depends on.
type Wanted struct {
	Named    []string // ref_ids of the submitted objects: full records
	Referred []string // ref_ids that other objects name: identifiers will do
	Active   bool     // every active entity of the business besides: identifiers will do
	AtStore  bool     // every reference of the addressed store besides, and the identifiers of their masters
}

// Needs is the stored state that a request depends on, over and above these
// rules: of the referred categories the full records are needed, and of all
// named and referred categories also their sub-categories. Taxes and charges,
// where wanted, are loaded whole. The links needed are those From a named
// entity; of TaxItem, those from every tax of a code that is named; and those To each of ClearedItems
// and ClearedGroups. Of a store request also the store's references to what it names.
type Needs struct {
	Entities      PerKind[Wanted] // of Taxes and Charges only whether they were sent counts
	ClearedItems  []string        // ref_ids: GroupItem links to them
	ClearedGroups []string        // ref_ids: OptionInGroup links to them
	// Nesting asks for every GroupUnderneath link of the business, the
	// OptionInGroup links of the options they are from, and the identifiers of
	// these and of the groups on both ends: what a cycle could run through.
	Nesting bool
}

// Needs tells what to load before Decide.
func (r *Request) Needs() Needs {
	var n Needs
	n.Entities[Categories].Named = refIDs[CategoryObject](r.Categories)
	n.Entities[Items].Named = refIDs[ItemObject](r.Items)
	n.Entities[OptionGroups].Named = refIDs[OptionGroupObject](r.OptionGroups)
	n.Entities[Options].Named = refIDs[OptionObject](r.Options)
	n.Entities[Taxes].Active = r.Taxes != nil
	n.Entities[Charges].Active = r.Charges != nil
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

func refIDs[T any, P object[T]](submitted []Submitted[T]) []string {
	list := make([]string, len(submitted))
	for i := range submitted {
		list[i] = *P(&submitted[i].Object).refID()
	}
	return list
}

// without is the refs that are not among those named, each once and sorted.
func without(refs, named []string) []string {
	known := make(map[string]bool, len(named))
	for _, ref := range named {
		known[ref] = true
	}
	slices.Sort(refs)
	return slices.DeleteFunc(slices.Compact(refs), func(ref string) bool { return known[ref] })
}
