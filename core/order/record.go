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
	Flags           int     `json:"flags"`                 // how many
	Reference       string  `json:"reference_id,omitzero"` // what the POS calls it
	Created         int64   `json:"created"`
	Updated         int64   `json:"updated"`
	Escalated       int64   `json:"escalated,omitzero"` // when it had waited too long for its acknowledgement
}

// Record is an order as stored: its relay as it was when it was placed, and
// what became of it since.
type Record struct {
	State     State
	Relay     []byte
	History   []Step
	Rides     Rides
	Reference string // what the POS calls it; "" while it has not said
	Escalated int64  // when it had waited too long for its acknowledgement, in epoch milliseconds; 0: never
	Shortages []ShortageReading
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
	State     State             `json:"state"`
	Reference string            `json:"reference_id,omitzero"`
	Escalated int64             `json:"escalated,omitzero"` // epoch milliseconds
	History   []Step            `json:"history"`
	Flags     []Flag            `json:"flags"`
	Shortages []ShortageReading `json:"items_oos,omitempty"`
	Rider     *RiderReading     `json:"rider,omitzero"` // nil before the first status of a rider
}

// Read brings a stored order into the shape of the read-back.
func (r Record) Read() (Reading, error) {
	reading := Reading{
		State: r.State, Reference: r.Reference, Escalated: r.Escalated, History: r.History, Shortages: r.Shortages, Rider: r.Rides.reading(),
	}
	var err error
	if reading.Relay, err = ReadRelay(r.Relay); err != nil {
		return reading, err
	}
	reading.enter(r.State)
	reading.Flags = orEmpty(reading.Order.Details.Flags)
	return reading, nil
}

// ReadRelay reads the stored body of an order_placed event.
func ReadRelay(stored []byte) (relay Relay, err error) {
	if err := json.Unmarshal(stored, &relay, core.OfAnySize()); err != nil {
		return relay, fmt.Errorf("a stored order cannot be read: %w", err)
	}
	return relay, nil
}

// Filter narrows a list of orders; zero values narrow nothing.
type Filter struct {
	State      State
	Platform   string
	StoreRefID string
	Reference  string    // what the POS calls it
	Escalated  bool      // only those that waited too long for their acknowledgement
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

// latestPlaced is the end of the year 9999, in epoch microseconds: no database takes
// every moment that a number may name.
const latestPlaced = 253402300799999999

// ParseCursor reads the form of String.
func ParseCursor(s string) (c Cursor, ok bool) {
	n, err := fmt.Sscanf(s, "%d-%d", &c.Placed, &c.ID)
	return c, err == nil && n == 2 && c.String() == s && c.ID > 0 && c.Placed >= 0 && c.Placed <= latestPlaced
}

// Arrival is a draft on its way into the hub.
type Arrival struct {
	Business core.BusinessID
	Actor    string // who brings it, such as key:shop
	Draft    Draft
	Trace    core.Trace // of the request
}

// Receipt is the answer to an order: its id, and whether the hub had it already.
type Receipt struct {
	OrderID int64
	Known   bool
}
