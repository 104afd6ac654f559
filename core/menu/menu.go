// Package menu holds the rules of menus: how a menu request is read and
// checked, what it changes in the master catalogue and at one store, what the
// callback and the read-back tell, and what a customer sees at a store on a
// platform (spec, Menu model and Endpoint 2). It does no input or output:
// loading the stored state and writing a Plan is another room's work.
package menu

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The most items and options that one request may carry (spec, Limits), and the
// most objects of each other kind.
const (
	MaxItems   = 2000
	MaxOptions = 10000
	maxOthers  = 20000
)

// MasterLocation is the location_ref_id of the master catalogue (spec, Endpoint 2).
const MasterLocation = "-1"

// Kind is one of the six kinds of menu entities. Their numeric order is the
// order of processing.
type Kind int

// The kinds of menu entities, in the order in which a request is processed.
const (
	Categories Kind = iota
	Items
	OptionGroups
	Options
	Taxes
	Charges
	kindCount
)

var kindNames = PerKind[string]{"categories", "items", "option_groups", "options", "taxes", "charges"}

// String is the name of the kind's array in a request, such as option_groups.
func (k Kind) String() string { return kindNames[k] }

// PerKind holds one value for each kind of entity.
type PerKind[T any] [kindCount]T

// Kinds lists every kind in the order of processing.
func Kinds() []Kind { return []Kind{Categories, Items, OptionGroups, Options, Taxes, Charges} }

// Scope is what a request addresses: the master catalogue or one store.
type Scope struct {
	LocationRefID string // MasterLocation, or the store's ref_id
	StoreID       int64  // 0 for the master catalogue
}

// MasterScope addresses the master catalogue.
func MasterScope() Scope { return Scope{LocationRefID: MasterLocation} }

// Master tells whether the scope is the master catalogue.
func (s Scope) Master() bool { return s.LocationRefID == MasterLocation }

// Rules are what the shape of a request is checked against.
type Rules struct {
	Country    string // of the business, ISO 3166-1 alpha-2: decides the tax codes
	Vocabulary *Vocabulary
	FlushGuard int // percent; a flush that takes out more is held until confirmed; 0 holds none
}

// Submitted is one object of a request: as it came, and as it was understood.
type Submitted[T any] struct {
	Raw    jsontext.Value
	Object T
}

// Request is a menu request that broke no rule of its shape. A nil array was
// not sent; an array that was sent empty is not nil.
type Request struct {
	Scope        Scope
	Categories   []Submitted[CategoryObject]
	Items        []Submitted[ItemObject]
	OptionGroups []Submitted[OptionGroupObject]
	Options      []Submitted[OptionObject]
	Taxes        []Submitted[TaxObject]
	Charges      []Submitted[ChargeObject]
	Flush        PerKind[bool]
	ConfirmFlush bool
	CallbackURL  string
	FlushGuard   int // see Rules

	switched PerKind[map[string]bool] // see heed
}

// raws are the objects of each kind as they came; nil where the array was not sent.
func (r *Request) raws() PerKind[[]jsontext.Value] {
	return PerKind[[]jsontext.Value]{
		rawsOf(r.Categories), rawsOf(r.Items), rawsOf(r.OptionGroups),
		rawsOf(r.Options), rawsOf(r.Taxes), rawsOf(r.Charges),
	}
}

func rawsOf[T any](submitted []Submitted[T]) []jsontext.Value {
	if submitted == nil {
		return nil
	}
	raws := make([]jsontext.Value, len(submitted))
	for i := range submitted {
		raws[i] = submitted[i].Raw
	}
	return raws
}
