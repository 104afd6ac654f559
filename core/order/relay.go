package order

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Relay is the body of an order_placed event (contract, Orders and channels).
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
	NextState  State      `json:"next_state,omitzero"` // the usual one; none where nothing follows
	NextStates []State    `json:"next_states"`
}

// Details are an order's own fields. Times are epoch milliseconds.
type Details struct {
	ID           int64           `json:"id"`
	Business     core.BusinessID `json:"biz_id"`
	Channel      string          `json:"channel"`
	State        State           `json:"order_state"`
	Kind         Kind            `json:"order_type"`
	Created      int64           `json:"created"`
	DeliverAt    *int64          `json:"delivery_datetime,omitzero"`
	Instructions string          `json:"instructions"`
	Coupon       string          `json:"coupon"`
	Subtotal     core.Amount     `json:"order_subtotal"`
	Discount     core.Amount     `json:"discount"`
	TotalCharges core.Amount     `json:"total_charges"`
	TotalTaxes   core.Amount     `json:"total_taxes"`
	Total        core.Amount     `json:"order_total"`
	Payable      core.Amount     `json:"payable_amount"`
	Charges      []Levy          `json:"charges"`
	Taxes        []Levy          `json:"taxes"`
	Bulk         bool            `json:"is_bulk_order"`
	Platforms    []RelayPlatform `json:"ext_platforms"`
	Flags        []Flag          `json:"flags,omitzero"`
}

// ScheduledFor is when the customer wants an order of a later day, in epoch
// milliseconds; 0 for one that is wanted within a day.
func (d *Details) ScheduledFor() int64 {
	if d.DeliverAt == nil || *d.DeliverAt-d.Created <= (24*time.Hour).Milliseconds() {
		return 0
	}
	return *d.DeliverAt
}

// RelayPlatform is the platform through which an order came.
type RelayPlatform struct {
	ID              string      `json:"id"`
	Kind            string      `json:"kind"`
	Name            string      `json:"name"`
	Carrier         Carrier     `json:"delivery_type"`
	PlatformStoreID string      `json:"platform_store_id,omitzero"`
	Extras          RelayExtras `json:"extras"`
	Discounts       []Discount  `json:"discounts"`
}

// RelayExtras is what else a platform says of an order.
type RelayExtras struct {
	Bulk bool `json:"is_bulk_order"`
}

// Item is an item of an order. ID is absent where the menu has no such item.
type Item struct {
	ID           int64       `json:"id,omitzero"`
	RefID        string      `json:"merchant_id"`
	Title        string      `json:"title"`
	FoodType     string      `json:"food_type,omitzero"`
	Price        core.Amount `json:"price"`
	Quantity     int64       `json:"quantity"`
	Total        core.Amount `json:"total"`
	TotalWithTax core.Amount `json:"total_with_tax"`
	Instructions string      `json:"instructions"`
	Charges      []Levy      `json:"charges"`
	Taxes        []Levy      `json:"taxes"`
	Options      []Option    `json:"options_to_add"`
}

// Option is an option chosen with an item; its quantity is for each one of the item.
type Option struct {
	ID       int64       `json:"id,omitzero"`
	RefID    string      `json:"merchant_id"`
	Title    string      `json:"title"`
	Price    core.Amount `json:"price"`
	Quantity int64       `json:"quantity"`
}

// RelayStore is the store that makes an order.
type RelayStore struct {
	ID      int64  `json:"id"`
	RefID   string `json:"merchant_ref_id"`
	Name    string `json:"name"`
	Address string `json:"address"`
}

// enter brings the order into a state.
func (r *Relay) enter(state State) {
	r.Order.Details.State = state
	r.Order.NextStates, r.Order.NextState = state.Next(), ""
	if len(r.Order.NextStates) > 0 {
		r.Order.NextState = r.Order.NextStates[0]
	}
}
