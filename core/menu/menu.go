// Package menu implements the rules of menus. It decodes and checks menu requests, and plans their changes to the
// master catalogue and to a store. It renders the callback and the stored menu, and computes what customers see at a
// store on a platform. It does no input or output: another package loads the stored state and writes a Plan.
package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// The bounds of the objects in one request: items, options, and each other kind.
const (
	MaxItems   = 2000
	MaxOptions = 10000
	maxOthers  = 20000
)

// MasterLocation is the location_ref_id of the master catalogue.
const MasterLocation = "-1"

// Kind is one of the six kinds of menu entities. Their numeric order is the order of processing.
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

// String returns the name of the kind's array in a request, such as option_groups.
func (k Kind) String() string { return kindNames[k] }

// PerKind holds one value for each kind of entity.
type PerKind[T any] [kindCount]T

// Kinds returns every kind in the order of processing.
func Kinds() []Kind { return []Kind{Categories, Items, OptionGroups, Options, Taxes, Charges} }

// Scope is the target of a request: the master catalogue or one store.
type Scope struct {
	LocationRefID string // MasterLocation, or the store's ref_id
	StoreID       int64  // 0 for the master catalogue
}

// MasterScope returns the scope of the master catalogue.
func MasterScope() Scope { return Scope{LocationRefID: MasterLocation} }

// Master reports whether the scope is the master catalogue.
func (s Scope) Master() bool { return s.LocationRefID == MasterLocation }

// Rules are the settings for the structural checks of a request.
type Rules struct {
	Country    string // of the business, ISO 3166-1 alpha-2: determines the tax codes
	Currency   string // of the business, ISO 4217: determines the digits of prices
	Vocabulary *Vocabulary
	FlushGuard int // percent; a flush that removes more is held until confirmed; 0 disables the guard
}

func (r *Rules) minorDigits() int32 { return core.MinorDigits(r.Currency) }

// Submitted is one object of a request, in raw and decoded form.
type Submitted[T any] struct {
	Raw      jsontext.Value
	Object   T
	Warnings []Warning // about parts of the object that were read leniently
}

// Request is a menu request that passed the structural checks. A nil array was not sent. An array that was sent empty
// is not nil.
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
	Warnings     []Warning

	laterAvailability PerKind[map[string]bool] // see applyLaterAvailability
}

// raws returns the raw objects of each kind, or nil for an array that was not sent.
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
