package menu

import "github.com/servery-hub/servery/core"

// Relation is one of the six associations between entities. It belongs to the entity whose object names the others:
// From is the owner, To is a named entity.
type Relation int

// The relations, as From to To.
const (
	ItemCategory  Relation = iota // item to category: category_ref_ids
	GroupItem                     // option group to item: item_ref_ids
	OptionInGroup                 // option to option group: opt_grp_ref_ids
	NestedGroup                   // option to option group: nested_opt_grps
	TaxItem                       // tax to item: item_ref_ids
	ChargeItem                    // charge to item: item_ref_ids
	relationCount
)

// PerRelation holds one value for each relation.
type PerRelation[T any] [relationCount]T

// Link is one association. Position orders the links of an owner as they were sent. It has gaps after removals.
type Link struct {
	From, To int64
	Position int32
}

// AtStore is a store's reference to a master record: its id and the store's own values.
type AtStore[V any] struct {
	ID     int64
	Values V
}

// StoreValues are the references of one store to master records.
type StoreValues struct {
	Categories []int64
	Items      []AtStore[ItemValues]
	Options    []AtStore[OptionValues]
}

// Menu is the stored menu of a business, or a part of it: master records, their associations, and the references of one
// store.
type Menu struct {
	Categories   []Category
	Items        []Item
	OptionGroups []OptionGroup
	Options      []Option
	Taxes        []Tax
	Charges      []Charge
	Links        PerRelation[[]Link]
	Store        StoreValues
	// Others are entities that only need identifiers. None of them is among the records above. Taxes and charges have
	// none.
	Others PerKind[[]Ref]
	// Blocked are the items that a platform's rules reject, by platform and id. It is set only in a complete menu.
	Blocked map[string]map[int64]bool
	// Timings are the times when categories are available. They are set only for the customers' view.
	Timings Timings
}

// State is the stored state that one request depends on. It must contain at least the ReadSet of the request. Its order
// only affects the order of removals in a plan.
type State struct {
	Menu
	Names core.PlatformNames // of the business's platforms
	// StoreCounts lists at how many stores entities are referenced, by ref_id, for the kinds that a master request
	// flushes.
	StoreCounts PerKind[[]Disassociation]
	// LaterAvailability holds the availability of items and options of the addressed store that changed after the
	// request was accepted, by ref_id.
	LaterAvailability PerKind[map[string]bool]
}
