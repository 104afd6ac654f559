package order

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Summary is an order as a list shows it. Times are epoch milliseconds.
type Summary struct {
	OrderID         int64   `json:"order_id"`
	Platform        string  `json:"platform"`
	PlatformOrderID string  `json:"platform_order_id"`
	StoreRefID      string  `json:"store_ref_id"`
	State           State   `json:"state"`
	Carrier         Carrier `json:"delivery_type"`
	Bulk            bool    `json:"is_bulk_order"`
	Flags           int     `json:"flags"` // how many
	Created         int64   `json:"created"`
	Updated         int64   `json:"updated"`
}

// Record is an order as stored: its relay as it was when it was placed, and
// what became of it since.
type Record struct {
	State   State
	Relay   []byte
	History []Step
	Rides   Rides
}

// Step is one state of an order's history.
type Step struct {
	State       State  `json:"state"`
	At          int64  `json:"at"` // epoch milliseconds
	Message     string `json:"message,omitzero"`
	ReasonCode  string `json:"reason_code,omitzero"`
	PrepMinutes *int64 `json:"prep_time_mins,omitzero"`
	Actor       string `json:"actor,omitzero"`
}

// Reading is an order as read back: its relay in its present state, and its history.
type Reading struct {
	Relay
	State   State         `json:"state"`
	History []Step        `json:"history"`
	Flags   []Flag        `json:"flags"`
	Rider   *RiderReading `json:"rider,omitzero"` // nil before the first status of a rider
}

// Read brings a stored order into the shape of the read-back.
func (r Record) Read() (Reading, error) {
	reading := Reading{State: r.State, History: r.History, Rider: r.Rides.reading()}
	if err := json.Unmarshal(r.Relay, &reading.Relay); err != nil {
		return reading, fmt.Errorf("a stored order cannot be read: %w", err)
	}
	reading.enter(r.State)
	reading.Flags = orEmpty(reading.Order.Details.Flags)
	return reading, nil
}

// Filter narrows a list of orders; zero values narrow nothing.
type Filter struct {
	State      State
	Platform   string
	StoreRefID string
	From, To   time.Time // placed at or after, and before
	After      Cursor
	Limit      int
}

// Cursor is a place in a list of orders, the newest first: after the order that
// was placed then and has that id. The zero Cursor is its beginning.
type Cursor struct {
	Placed int64 // epoch microseconds
	ID     int64
}

// String is the form that ParseCursor reads.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Placed, c.ID) }

// ParseCursor reads the form of String.
func ParseCursor(s string) (c Cursor, ok bool) {
	n, err := fmt.Sscanf(s, "%d-%d", &c.Placed, &c.ID)
	return c, err == nil && n == 2 && c.String() == s && c.ID > 0
}

// Arrival is a draft on its way into the hub.
type Arrival struct {
	Business core.BusinessID
	Actor    string // who brings it, such as key:shop
	Draft    Draft
}

// Receipt is the answer to an order: its id, and whether the hub had it already.
type Receipt struct {
	OrderID int64
	Known   bool
}
