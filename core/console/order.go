package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// Order is an order in a list.
type Order struct {
	ID              int64
	Platform        string
	PlatformOrderID string
	StoreID         int64
	StoreRef        string
	StoreName       string
	State           string // order.State
	Rider           string // the last status of its rider, order.RiderStatus; "" before the first
	Flags           int
	Placed          time.Time
	Updated         time.Time
	Escalated       bool // its acknowledgement is or was overdue
	PlacedEvent     core.ID
	DeliveryMode    order.DeliveryMode
	Reference       string // the number in the POS; "": none
}

// OrderFilter selects orders. A zero field matches all.
type OrderFilter struct {
	State, Platform string
	Store           string    // ref_id
	ID              string    // an order id of the hub, the platform or the merchant
	Unacknowledged  bool      // with an overdue acknowledgement
	Unnotified      bool      // Placed, with no webhook notified
	CallFailed      bool      // with a call that its platform rejected
	From, To        time.Time // placed; From is inclusive, To is exclusive
	Oldest          bool      // the oldest first
	Before          OrderCursor
	Limit           int
}

// After returns the filter of the orders after one.
func (f OrderFilter) After(last Order) OrderFilter {
	f.Before = last.Cursor()
	return f
}

// OrderCursor is a position in a list of orders: after the order with this time of placement and id. The
// zero OrderCursor is the start.
type OrderCursor struct {
	Placed int64 // epoch microseconds
	ID     int64
}

// Cursor returns the cursor of the order in a list.
func (o Order) Cursor() OrderCursor { return OrderCursor{o.Placed.UnixMicro(), o.ID} }

// String returns the form that ParseOrderCursor parses.
func (p OrderCursor) String() string { return fmt.Sprintf("%d-%d", p.Placed, p.ID) }

// ParseOrderCursor parses the form of String. Any other text is the start.
func ParseOrderCursor(s string) (p OrderCursor) {
	// too late for the database
	if n, err := fmt.Sscanf(s, "%d-%d", &p.Placed, &p.ID); err != nil || n != 2 || p.Placed>>57 != 0 {
		return OrderCursor{}
	}
	return p
}

// RiderLocation is the last known location of an order's rider.
type RiderLocation struct {
	Latitude, Longitude string // decimal degrees
	ReceivedAt          time.Time
	State               string       // relay.State: done if the aggregator has it
	Message             string       // the reason of the state, in plain words
	SentAt              time.Time    // when the aggregator accepted the last location; zero: none yet
	Path                []RiderPoint // earlier locations and this one, oldest first
}

// RiderPoint is a location of a rider.
type RiderPoint struct {
	Latitude, Longitude float64 // degrees
	At                  time.Time
}

// ParseRiderPath parses points like "12.97,77.59,1700000000000;". It leaves out those that it cannot parse.
func ParseRiderPath(text string) (path []RiderPoint) {
	for one := range strings.SplitSeq(text, ";") {
		var p RiderPoint
		var at int64
		if n, err := fmt.Sscanf(strings.ReplaceAll(one, ",", " "), "%g %g %d", &p.Latitude, &p.Longitude,
			&at); err != nil || n != 3 {
			continue
		}
		p.At = time.UnixMilli(at).UTC()
		path = append(path, p)
	}
	return path
}
