package order

import (
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
)

// Setting is the stored state that an order meets: the business, the platform,
// the store, and of its menu what the order names, with every active tax and charge.
type Setting struct {
	Business core.BusinessID
	Currency string // ISO 4217
	Platform core.Platform
	Store    Store
	Items    map[string]*MenuItem   // by ref_id; nothing for what the business does not have
	Options  map[string]*MenuOption // likewise
	Taxes    []MenuTax
	Charges  []MenuCharge
}

// Store is the store of an order.
type Store struct {
	ID              int64
	RefID           string
	Name            string
	Address         string
	PlatformStoreID string // what the platform calls it; "" where it was not told
	Active          bool
	OrderingEnabled bool
	Listed          bool            // on the platform
	Hours           []core.DayHours // none: it is always open
	Zone            *time.Location  // of the hours
	MinOrder        *core.Amount    // below which it takes no order of the merchant's own channels
}

// MenuItem is an item of the business as it stands at the store.
type MenuItem struct {
	ID        int64
	Title     string
	FoodType  string
	Sold      bool        // at the store; what follows is of no meaning without it
	Price     core.Amount // on the platform
	Available bool
	Stock     int64 // negative: never out of stock
	Listed    bool  // on the platform
	Groups    []MenuGroup
}

// MenuOption is an option of the business as it stands at the store.
type MenuOption struct {
	ID        int64
	Title     string
	Sold      bool
	Price     core.Amount
	Available bool
	Groups    []int64     // of which it is
	Nested    []MenuGroup // underneath it
}

// MenuTax is an active tax: a percentage of the totals of items.
type MenuTax struct {
	Code, Title string
	Percent     core.Amount
	All         bool           // falls on every item but those that another rate of its code names
	Items       map[int64]bool // of those that the order names, the ones it names
}

// Basis is what a charge falls on (spec, Charge: structure.applicable_on).
type Basis string

// The bases of charges; a fixed charge on the order has none.
const (
	OnOrder    Basis = ""
	OnSubtotal Basis = "order.order_subtotal" // percent
	OnQuantity Basis = "item.quantity"        // a fixed amount for each
	OnPrice    Basis = "item.price"           // percent of an item's total
)

// MenuCharge is an active charge.
type MenuCharge struct {
	Title    string
	Basis    Basis
	Value    core.Amount
	Kinds    []string // of order; none: every kind
	Excluded []string // platforms on which it is not taken
	All      bool
	Items    map[int64]bool // of those that the order names, the ones it names
	Naming   bool           // names items, of this order or not
}

// applies tells whether the charge is taken on orders of the kind and platform.
func (c *MenuCharge) applies(kind Kind, platform string) bool {
	return !slices.Contains(c.Excluded, platform) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, string(kind)))
}

// Flag is something odd about an order: a difference between what was sent and
// what the hub works out, or a doubt. Sent and Computed are amounts; a nil one is
// left out. (omitzero would leave out the amount 0 as well.)
type Flag struct {
	Path     string       `json:"path"` // in the order as it was sent, such as items[0].price
	Code     string       `json:"code"`
	Message  string       `json:"message"`
	Sent     *core.Amount `json:"sent,omitempty"`
	Computed *core.Amount `json:"computed,omitempty"`
}

// The codes of flags.
const (
	Differs          = "differs"       // sent and computed are not the same
	Exceeds          = "exceeds"       // sent is more than it can be, which is computed
	BelowMinimum     = "below_minimum" // sent is less than it has to be, which is computed
	NotOnMenu        = "not_on_menu"
	NotSold          = "not_sold"
	NotListed        = "not_listed" // on the platform
	NotAvailable     = "unavailable"
	OutOfStock       = "out_of_stock"
	TooFewOptions    = "too_few_options"
	TooManyOptions   = "too_many_options"
	StoreClosed      = "store_closed" // by its opening hours
	StoreInactive    = "store_inactive"
	OrderingDisabled = "ordering_disabled"
)
