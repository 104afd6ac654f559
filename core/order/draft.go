// Package order implements the rules of orders. It decodes orders, prices them by the store's menu, and flags
// inconsistencies. It also defines the state transitions and the bodies of events.
package order

import (
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// The bounds of one order, in elements.
const (
	MaxItems = 500 // also of the options of one item
	maxParts = 100 // charges, taxes, discounts, payments
)

// MaxBody bounds the body of one order, in bytes, because many are held in memory at once.
const MaxBody = 1 << 20

// Kind is how an order reaches its customer.
type Kind string

// The kinds of order.
const (
	ForDelivery Kind = "delivery"
	ForPickup   Kind = "pickup"
	ForDineIn   Kind = "dine_in" // not one of the modes of items and charges
)

// DeliveryMode is who delivers an order: the merchant itself or the platform's riders.
type DeliveryMode string

// The delivery modes.
const (
	SelfDelivery    DeliveryMode = "self"
	PartnerDelivery DeliveryMode = "partner"
)

// Draft is an order as a channel sends it, after the structural checks. A nil pointer or list was not sent. A list that
// was sent empty is not nil.
type Draft struct {
	Platform        string           `json:"platform"`
	PlatformOrderID core.Identifier  `json:"platform_order_id"`
	StoreRefID      core.Identifier  `json:"store_ref_id"`
	Kind            Kind             `json:"order_type"`    // ForDelivery if it was not sent
	DeliveryMode    DeliveryMode     `json:"delivery_type"` // "" if it was not sent
	Bulk            bool             `json:"is_bulk_order"`
	Customer        Customer         `json:"customer"`
	Items           []Line           `json:"-"` // decoded one by one, so that errors name their index
	Charges         []Charge         `json:"charges"`
	Taxes           []Tax            `json:"taxes"`
	Discounts       []Discount       `json:"discounts"`
	Payment         []Payment        `json:"payment"`
	Coupon          string           `json:"coupon"`
	Instructions    string           `json:"instructions"`
	DeliverAt       core.PositiveInt `json:"delivery_datetime"` // epoch milliseconds
	DisplayID       core.Identifier  `json:"display_id"`        // the short number that the customer and courier name
	PrepareFor      core.PositiveInt `json:"prepare_for"`       // epoch milliseconds, when the food is to be ready
	Cutlery         *bool            `json:"cutlery"`           // whether the customer wants cutlery
	Totals
}

// optionalTime returns a time, or nil if it was not sent.
func optionalTime(t core.PositiveInt) *int64 {
	if t == 0 {
		return nil
	}
	return new(int64(t))
}

// Totals are the totals that a channel may send.
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
	RefID        core.Identifier `json:"ref_id"`
	LineID       core.Identifier `json:"line_id"` // the platform's id of this line
	Quantity     *core.Integer   `json:"quantity"`
	Price        *core.Amount    `json:"price"` // of one, without its options; nil: the menu's price
	Title        string          `json:"title"`
	Instructions string          `json:"instructions"`
	Options      []Choice        `json:"options"`
}

// Choice is an option of a line.
type Choice struct {
	RefID    core.Identifier `json:"ref_id"`
	LineID   core.Identifier `json:"line_id"`  // the platform's id of this choice
	Quantity *core.Integer   `json:"quantity"` // for each one of the item; nil: 1
	Price    *core.Amount    `json:"price"`
	Title    string          `json:"title"`
	Parent   *core.Integer   `json:"parent"` // the index of the option it was chosen under; nil: of the item
}

// Charge is a charge of an order or item, in requests and in events.
type Charge struct {
	Title string       `json:"title"`
	Rate  *core.Amount `json:"rate,omitempty"` // as the channel sent it
	Value *core.Amount `json:"value"`
}

// Tax is a tax of an order or item, in requests and in events.
type Tax struct {
	Title string       `json:"title"`
	Rate  *core.Amount `json:"rate"` // in percent; nil if the channel did not send it
	Value *core.Amount `json:"value"`
	// who is liable for it, as the channel sent it
	LiabilityOn string `json:"liability_on"`
}

func (c Charge) amount() decimal.Decimal { return c.Value.Decimal }
func (t Tax) amount() decimal.Decimal    { return t.Value.Decimal }

// Discount is a reduction of an order.
type Discount struct {
	Title string       `json:"title"`
	Code  string       `json:"code"`
	Value *core.Amount `json:"value"`
	// whether the merchant bears it; nil if the channel did not send it
	ByMerchant *bool `json:"is_merchant_discount"`
}

// Payment is a part of the amount that the customer has paid or will pay.
type Payment struct {
	Option string       `json:"option"` // such as cash
	Amount *core.Amount `json:"amount"`
	Serial string       `json:"srvr_trx_id"`
}

// Customer is the person who ordered. An unknown field is empty.
type Customer struct {
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Phone   string   `json:"phone"`
	Address *Address `json:"address"` // nil: none was sent
}

// Address is the delivery address of an order.
type Address struct {
	Line1       string       `json:"line_1"`
	Line2       string       `json:"line_2"`
	Landmark    string       `json:"landmark"`
	City        string       `json:"city"`
	SubLocality string       `json:"sub_locality"`
	Pin         string       `json:"pin"`
	Latitude    *core.Amount `json:"latitude"`  // degrees
	Longitude   *core.Amount `json:"longitude"` // degrees
}
