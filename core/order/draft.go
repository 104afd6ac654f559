// Package order holds the rules of orders: how an order is read in its normal
// form, what it comes to by the store's menu, what is odd about it, through which
// states it goes, and what its events tell (contract, Orders and channels).
package order

import "github.com/servery-hub/servery/core"

// The bounds of one order, in elements.
const (
	MaxItems = 500 // also of the options of one item
	maxParts = 100 // charges, taxes, discounts, payments
)

// MaxBody is the largest body of one order, in bytes: many are held at once.
const MaxBody = 1 << 20

// Kind is how an order reaches its customer (spec, Item: fulfillment_modes).
type Kind string

// The kinds of order.
const (
	ForDelivery Kind = "delivery"
	ForPickup   Kind = "pickup"
	ForDineIn   Kind = "dine_in" // not among the modes of items and charges
)

// Carrier is who brings an order: the merchant itself or the platform's riders.
type Carrier string

// The carriers.
const (
	BySelf    Carrier = "self"
	ByPartner Carrier = "partner"
)

// Draft is an order as a channel sends it, once it has passed the checks of its
// shape. A nil pointer or list was not sent; a list that was sent empty is not nil.
type Draft struct {
	Platform        string          `json:"platform"`
	PlatformOrderID core.Identifier `json:"platform_order_id"`
	StoreRefID      string          `json:"store_ref_id"`
	Kind            Kind            `json:"order_type"`    // ForDelivery where it was not sent
	Carrier         Carrier         `json:"delivery_type"` // "" where it was not sent
	Bulk            bool            `json:"is_bulk_order"`
	Customer        Customer        `json:"customer"`
	Items           []Line          `json:"-"` // read one by one, for their places in messages
	Charges         []Levy          `json:"charges"`
	Taxes           []Levy          `json:"taxes"`
	Discounts       []Discount      `json:"discounts"`
	Payment         []Payment       `json:"payment"`
	Coupon          string          `json:"coupon"`
	Instructions    string          `json:"instructions"`
	DeliverAt       *core.Integer   `json:"delivery_datetime"` // epoch milliseconds
	Totals
}

// Totals are the sums that a channel may state.
type Totals struct {
	Subtotal *core.Amount `json:"order_subtotal"`
	Charges  *core.Amount `json:"total_charges"`
	Taxes    *core.Amount `json:"total_taxes"`
	Discount *core.Amount `json:"discount"`
	Total    *core.Amount `json:"order_total"`
	Payable  *core.Amount `json:"payable_amount"`
}

// Line is an item of a draft.
type Line struct {
	RefID        string        `json:"ref_id"`
	Quantity     *core.Integer `json:"quantity"`
	Price        *core.Amount  `json:"price"` // of one, without its options; nil: what the menu says
	Title        string        `json:"title"`
	Instructions string        `json:"instructions"`
	Options      []Choice      `json:"options"`
}

// Choice is an option of a line.
type Choice struct {
	RefID    string        `json:"ref_id"`
	Quantity *core.Integer `json:"quantity"` // for each one of the item; nil: 1
	Price    *core.Amount  `json:"price"`
	Title    string        `json:"title"`
}

// Levy is a charge or a tax of an order or item, both as sent and as told on.
type Levy struct {
	Title string       `json:"title"`
	Rate  *core.Amount `json:"rate,omitempty"` // of a tax, in percent
	Value *core.Amount `json:"value"`
}

// Discount is a reduction of an order.
type Discount struct {
	Title string       `json:"title,omitzero"`
	Code  string       `json:"code,omitzero"`
	Value *core.Amount `json:"value"`
}

// Payment is a part of what the customer has paid or is to pay.
type Payment struct {
	Option string       `json:"option"` // such as cash
	Amount *core.Amount `json:"amount"`
	Serial string       `json:"srvr_trx_id,omitzero"`
}

// Customer is who ordered. What was not sent is empty.
type Customer struct {
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Phone   string   `json:"phone"`
	Address *Address `json:"address,omitzero"`
}

// Address is where an order goes.
type Address struct {
	Line1       string       `json:"line_1"`
	Line2       string       `json:"line_2"`
	Landmark    string       `json:"landmark"`
	City        string       `json:"city"`
	SubLocality string       `json:"sub_locality"`
	Pin         string       `json:"pin"`
	Latitude    *core.Amount `json:"latitude,omitempty"`  // degrees
	Longitude   *core.Amount `json:"longitude,omitempty"` // degrees
}
