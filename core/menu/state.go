package menu

// Relation is one of the six associations between entities. Each belongs to the
// entity that names the others in its object: From is the owner, To what it names.
type Relation int

// The relations, as From to To.
const (
	ItemCategory    Relation = iota // item to category: category_ref_ids
	GroupItem                       // option group to item: item_ref_ids
	OptionInGroup                   // option to option group: opt_grp_ref_ids
	GroupUnderneath                 // option to option group: nested_opt_grps
	TaxItem                         // tax to item: item_ref_ids
	ChargeItem                      // charge to item: item_ref_ids
	relationCount
)

// PerRelation holds one value for each relation.
type PerRelation[T any] [relationCount]T

// Link is one association. Position orders the links of an owner as they were
// sent; it has gaps where links were removed.
type Link struct {
	From, To int64
	Position int32
}

// AtStore is the store reference to a master record: its id and the store's own values.
type AtStore[V any] struct {
	ID     int64
	Values V
}

// StoreValues are the references that one store holds to master records.
type StoreValues struct {
	Categories []int64
	Items      []AtStore[ItemValues]
	Options    []AtStore[OptionValues]
}

// Menu is what is stored of a business's menu, or the part of it that is asked
// for: master records, their associations, and the references of one store.
type Menu struct {
	Categories   []Category
	Items        []Item
	OptionGroups []OptionGroup
	Options      []Option
	Taxes        []Tax
	Charges      []Charge
	Links        PerRelation[[]Link]
	Store        StoreValues
	// Others are entities of which only the identifiers matter here; none of
	// them is among the records above. Taxes and charges have none.
	Others PerKind[[]Ref]
	// Blocked are the items that a platform's rules refuse, by platform and id;
	// only in a whole menu.
	Blocked map[string]map[int64]bool
	// Timings are when categories are on sale; only where
	// customers are to see it.
	Timings Timings
}

// State is the stored state that one request depends on. It must hold at least
// what Request.Needs lists. Its order decides only in which order a plan lists
// what goes.
type State struct {
	Menu
	Platforms []string // names of the business's platforms
	// Spread lists which entities are referenced at how many stores, by ref_id:
	// of the kinds that a master request flushes.
	Spread PerKind[[]Disassociation]
	// Switched tells what items and options of the addressed store, by ref_id, were
	// switched to after the request was accepted.
	Switched PerKind[map[string]bool]
}
