package order

import (
	"math"
	"time"

	"github.com/servery-hub/servery/core"
)

// Relay is the body of an order_placed event. Each key that is not omitzero is always present, because receivers reject
// a body without it.
type Relay struct {
	Customer Customer `json:"customer"`
	Order    Body     `json:"order"`
}

// Body is the order itself.
type Body struct {
	Details    Details    `json:"details"`
	Items      []Item     `json:"items"`
	Payment    []Payment  `json:"payment"`
	Store      RelayStore `json:"store"`
	NextState  State      `json:"next_state,omitzero"` // the usual one; empty at the end
	NextStates []State    `json:"next_states"`
}

// Details are an order's own fields. Times are epoch milliseconds.
type Details struct {
	ID           int64           `json:"id"`
	Business     core.BusinessID `json:"biz_id"`
	BusinessName string          `json:"biz_name"`
	Channel      string          `json:"channel"`
	State        State           `json:"order_state"`
	StateAlias   State           `json:"state"` // for receivers that read this key
	Kind         Kind            `json:"order_type"`
	Created      int64           `json:"created"`
	DeliverAt    *int64          `json:"delivery_datetime"`
	PrepMinutes  *int64          `json:"prep_time"` // nil until the POS reports it
	Instructions string          `json:"instructions"`
	Coupon       string          `json:"coupon"`
	Subtotal     core.Amount     `json:"order_subtotal"`
	Discount     core.Amount     `json:"discount"`
	TotalCharges core.Amount     `json:"total_charges"`
	TotalTaxes   core.Amount     `json:"total_taxes"`
	ItemCharges  core.Amount     `json:"item_level_total_charges"` // the part of TotalCharges that is on items
	ItemTaxes    core.Amount     `json:"item_level_total_taxes"`
	OrderCharges core.Amount     `json:"order_level_total_charges"` // the rest of it
	OrderTaxes   core.Amount     `json:"order_level_total_taxes"`
	Total        core.Amount     `json:"order_total"`
	Payable      core.Amount     `json:"payable_amount"`
	Charges      []Charge        `json:"charges"`
	Taxes        []Tax           `json:"taxes"`
	Bulk         bool            `json:"is_bulk_order"`
	Platforms    []RelayPlatform `json:"ext_platforms"`
	DisplayID    string          `json:"display_id,omitzero"`
	PrepareFor   *int64          `json:"prepare_for,omitzero"`
	Cutlery      *bool           `json:"cutlery,omitzero"` // nil if the channel did not say it
	Flags        []Flag          `json:"flags,omitzero"`
}

// ScheduledFor returns the requested delivery time in epoch milliseconds. It returns 0 if that is within a day of the
// order.
func (d *Details) ScheduledFor() int64 {
	if d.DeliverAt == nil || *d.DeliverAt-d.Created <= (24*time.Hour).Milliseconds() {
		return 0
	}
	return *d.DeliverAt
}

// FlagCount returns the number of flags, at most 32,767: what the list of orders shows.
func (d *Details) FlagCount() int16 {
	return int16(min(len(d.Flags), math.MaxInt16))
}

// RelayPlatform is the platform that an order came from.
type RelayPlatform struct {
	ID              string       `json:"id"`
	Kind            string       `json:"kind"`
	Name            string       `json:"name"`
	DeliveryMode    DeliveryMode `json:"delivery_type"`
	PlatformStoreID string       `json:"platform_store_id"`
	Extras          RelayExtras  `json:"extras"`
	Discounts       []Discount   `json:"discounts"`
}

// RelayExtras are further fields of a platform's order.
type RelayExtras struct {
	Bulk bool `json:"is_bulk_order"`
}

// Item is an item of an order. ID is 0 and FoodType empty if the menu has none.
type Item struct {
	ID           int64       `json:"id"`
	RefID        string      `json:"merchant_id"`
	Title        string      `json:"title"`
	FoodType     string      `json:"food_type"`
	Price        core.Amount `json:"price"`
	Quantity     int64       `json:"quantity"`
	Total        core.Amount `json:"total"`
	TotalWithTax core.Amount `json:"total_with_tax"`
	Instructions string      `json:"instructions"`
	Tags         []string    `json:"tags"`
	Charges      []Charge    `json:"charges"`
	Taxes        []Tax       `json:"taxes"`
	Options      []Option    `json:"options_to_add"`
	LineID       string      `json:"line_id,omitzero"` // the platform's id of this line
}

// Option is an option chosen with an item. Its quantity is for each one of the item.
type Option struct {
	ID         int64       `json:"id"`
	RefID      string      `json:"merchant_id"`
	Title      string      `json:"title"`
	Price      core.Amount `json:"price"`
	Quantity   int64       `json:"quantity"`
	TotalPrice core.Amount `json:"total_price"` // price times quantity, for each one of the item
	Group      ChosenGroup `json:"group"`
	LineID     string      `json:"line_id,omitzero"` // the platform's id of this choice
	Parent     *int64      `json:"parent,omitzero"`  // the index of the option it was chosen under; nil: of the item
}

// ChosenGroup is the option group that an option was chosen from. It is empty if the item offers the option in none.
type ChosenGroup struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
}

// RelayStore is the store that fulfils an order.
type RelayStore struct {
	ID      int64  `json:"id"`
	RefID   string `json:"merchant_ref_id"`
	Name    string `json:"name"`
	Address string `json:"address"`
	// degrees; nil if unknown
	Latitude  *core.Amount `json:"latitude"`
	Longitude *core.Amount `json:"longitude"`
}

// setState moves the order to a state.
func (r *Relay) setState(state State) {
	r.Order.Details.State, r.Order.Details.StateAlias = state, state
	r.Order.NextStates, r.Order.NextState = state.Next(), ""
	if len(r.Order.NextStates) > 0 {
		r.Order.NextState = r.Order.NextStates[0]
	}
}
