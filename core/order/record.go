package order

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Summary is an order in a list. Times are epoch milliseconds.
type Summary struct {
	OrderID         int64        `json:"order_id"`
	Platform        string       `json:"platform"`
	PlatformOrderID string       `json:"platform_order_id"`
	StoreRefID      string       `json:"store_ref_id"`
	State           State        `json:"state"`
	DeliveryMode    DeliveryMode `json:"delivery_type"`
	Bulk            bool         `json:"is_bulk_order"`
	Flags           int          `json:"flags"`                 // the number of flags
	Reference       string       `json:"reference_id,omitzero"` // the POS's name for it
	Created         int64        `json:"created"`
	Updated         int64        `json:"updated"`
	Escalated       int64        `json:"escalated,omitzero"` // when its acknowledgement was overdue
}

// Record is a stored order: its relay as it was placed, and what happened since.
type Record struct {
	State             State
	Platform          string // by its own name; the relay may name it by an alias
	Relay             []byte
	History           []Step
	RiderHistory      RiderHistory
	Reference         string // the POS's name for it; "" until it is set
	Escalated         int64  // when its acknowledgement was overdue, in epoch milliseconds; 0: never
	OutOfStockReports []APIOutOfStockReport
	Unnotified        bool // no webhook has received it
}

// Step is one state of an order's history.
type Step struct {
	State       State  `json:"state"`
	At          int64  `json:"at"` // epoch milliseconds
	Message     string `json:"message,omitzero"`
	ReasonCode  string `json:"reason_code,omitzero"`
	PrepMinutes *int64 `json:"prep_time_mins,omitzero"`
	Actor       string `json:"actor,omitzero"`
	RejectedItems
}

// APIOrder is an order in the API: its relay in the current state, and its history.
type APIOrder struct {
	Relay
	State             State                 `json:"state"`
	Reference         string                `json:"reference_id,omitzero"`
	Escalated         int64                 `json:"escalated,omitzero"` // epoch milliseconds
	History           []Step                `json:"history"`
	Flags             []Flag                `json:"flags"`
	OutOfStockReports []APIOutOfStockReport `json:"items_oos,omitempty"`
	Rider             *APIRider             `json:"rider,omitzero"` // nil before the first rider status
}

// ToAPI converts a stored order to its form in the API.
func (r Record) ToAPI() (APIOrder, error) {
	order := APIOrder{
		State: r.State, Reference: r.Reference, Escalated: r.Escalated, History: r.History,
		OutOfStockReports: r.OutOfStockReports, Rider: r.RiderHistory.toAPI(),
	}
	var err error
	if order.Relay, err = ReadRelay(r.Relay); err != nil {
		return order, err
	}
	order.setState(r.State)
	for _, step := range r.History {
		if step.PrepMinutes != nil {
			order.Order.Details.PrepMinutes = step.PrepMinutes
		}
	}
	order.Flags = orEmpty(order.Order.Details.Flags)
	return order, nil
}

// WithPlatform returns the order with the platform under another name.
func (r APIOrder) WithPlatform(platform string) APIOrder {
	r.Order.Details.Channel = platform
	r.Order.Details.Platforms = slices.Clone(r.Order.Details.Platforms)
	for i := range r.Order.Details.Platforms {
		r.Order.Details.Platforms[i].Name = platform
	}
	return r
}

// ReadRelay decodes the stored body of an order_placed event.
func ReadRelay(stored []byte) (relay Relay, err error) {
	if err := json.Unmarshal(stored, &relay, core.UnboundedAmounts()); err != nil {
		return relay, fmt.Errorf("reading a stored order: %w", err)
	}
	return relay, nil
}

// Filter narrows a list of orders. Zero values match all.
type Filter struct {
	State      State
	Platform   string
	StoreRefID string
	Reference  string    // the POS's name for the order
	Escalated  bool      // only those whose acknowledgement was overdue
	From, To   time.Time // From is inclusive, To is exclusive; of the placement
	After      Cursor
	Limit      int
}

// Cursor is a position in a list of orders, newest first: after the order with this time of placement and id. The zero
// Cursor is the start.
type Cursor struct {
	Placed int64 // epoch microseconds
	ID     int64
}

// String returns the form that ParseCursor parses.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Placed, c.ID) }

// maxPlacedMicros is the end of the year 9999, in epoch microseconds. A later time does not fit into the database.
const maxPlacedMicros = 253402300799999999

// ParseCursor parses the form of String.
func ParseCursor(s string) (c Cursor, ok bool) {
	n, err := fmt.Sscanf(s, "%d-%d", &c.Placed, &c.ID)
	return c, err == nil && n == 2 && c.String() == s && c.ID > 0 && c.Placed >= 0 && c.Placed <= maxPlacedMicros
}

// PlaceRequest is a request to place an order.
type PlaceRequest struct {
	Business core.BusinessID
	Actor    string // who sends it, such as key:shop
	Draft    Draft
	Trace    core.Trace // of the request

	// The API key of the request; zero for an order without one, such as that of an aggregator's callback.
	Credential core.Credential
}

// PlaceResult is the result of placing an order: its id, and whether the hub already had it.
type PlaceResult struct {
	OrderID   int64
	Duplicate bool
}

// Text describes the result. A channel that resends a changed order under the same id is informed that nothing changed.
func (r PlaceResult) Text() string {
	if r.Duplicate {
		return "the order already exists and was not changed"
	}
	return "order accepted"
}
