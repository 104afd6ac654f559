package order

import (
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// PricingContext is the stored state that prices an order. It contains the business, the platform, the store, the
// ordered items and options, and every active tax and charge.
type PricingContext struct {
	Business core.BusinessID
	Name     string // of the business
	Currency string // ISO 4217
	Platform core.Platform
	Store    Store
	Items    map[string]*MenuItem   // by ref_id; no entry for unknown ones
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
	Latitude        *core.Amount // degrees
	Longitude       *core.Amount
	PlatformStoreID string // the platform's id of it; "" if unknown
	Active          bool
	OrderingEnabled bool
	Listed          bool // on the platform
	Hours           core.OpeningHours
	Zone            *time.Location // of the hours
	MinOrder        *core.Amount   // the minimum for orders of the merchant's own channels
}

// MenuItem is an item of the business, as sold at the store.
type MenuItem struct {
	ID       int64
	Title    string
	FoodType string
	Tags     []string    // on the platform
	Reason   menu.Reason // why it cannot be ordered; with menu.NotSold, the following fields have no meaning
	Price    core.Amount // on the platform
	Stock    int64       // negative: never out of stock
	Groups   []MenuGroup
}

// MenuOption is an option of the business, as sold at the store.
type MenuOption struct {
	ID     int64
	Title  string
	Reason menu.Reason // why it cannot be ordered
	Price  core.Amount
	Groups []int64     // that contain it
	Nested []MenuGroup // offered if it is chosen
}

// MenuTax is an active tax: a percentage of the totals of items.
type MenuTax struct {
	Code, Title string
	Percent     core.Amount
	All         bool           // applies to every item that no other rate of its code names
	Items       map[int64]bool // the ordered items that it names
}

// Basis is what a charge applies to.
type Basis string

// The bases of charges. A fixed charge on the order has none.
const (
	OnOrder    Basis = ""
	OnSubtotal Basis = "order.order_subtotal" // percent
	OnQuantity Basis = "item.quantity"        // a fixed amount for each
	OnPrice    Basis = "item.price"           // percent of an item's total
)

// MenuCharge is an active charge.
type MenuCharge struct {
	Title       string
	Basis       Basis
	Value       core.Amount
	Kinds       []string       // of order; empty: every kind
	Excluded    []string       // platforms on which it does not apply
	Key         string         // the same for charges that replace each other on an item; "" for none
	All         bool           // applies to every item that no other charge of its key names
	Items       map[int64]bool // the ordered items that it names
	HasItemList bool           // it names items, whether ordered or not, or lost them
}

// applies reports whether the charge applies to orders of the kind and platform.
func (c *MenuCharge) applies(kind Kind, platform string) bool {
	return !slices.Contains(c.Excluded, platform) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, string(kind)))
}

// Flag is an inconsistency of an order, such as a difference between a sent and a computed amount. A nil amount is
// omitted. (omitzero would omit the amount 0 as well.)
type Flag struct {
	Path     string       `json:"path"` // in the order as it was sent, such as items[0].price
	Code     string       `json:"code"`
	Message  string       `json:"message"`
	Sent     *core.Amount `json:"sent,omitempty"`
	Computed *core.Amount `json:"computed,omitempty"`
}

// The codes of flags.
const (
	Differs          = "differs"       // sent and computed differ
	Exceeds          = "exceeds"       // sent exceeds the maximum, which is computed
	BelowMinimum     = "below_minimum" // sent is below the minimum, which is computed
	NotOnMenu        = "not_on_menu"
	NotSold          = "not_sold"
	NotListed        = "not_listed" // on the platform
	NotAvailable     = "unavailable"
	OutOfStock       = "out_of_stock"
	TooFewOptions    = "too_few_options"
	TooManyOptions   = "too_many_options"
	StoreClosed      = "store_closed" // outside its opening hours
	StoreInactive    = "store_inactive"
	OrderingDisabled = "ordering_disabled"
)
