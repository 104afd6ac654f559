package console

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// Order is an order as a list shows it.
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
	Escalated       bool // it waited too long for its acknowledgement, or still does
}

// OrderFilter chooses orders; a zero field chooses all.
type OrderFilter struct {
	State, Platform string
	Store           string    // ref_id
	ID              string    // the hub's, the platform's or the merchant's
	Unacknowledged  bool      // waiting too long for that
	Untold          bool      // Placed, and nobody was told of it
	Untaken         bool      // its platform did not take something of what it was told
	Since           time.Time // placed then or later
	Before          OrderPlace
	Limit           int
}

// OrderPlace is a place in a list of orders, the newest first: after the order
// that was placed then and has that id. The zero place is the beginning.
type OrderPlace struct {
	Placed int64 // epoch microseconds
	ID     int64
}

// Place is where the order stands in a list.
func (o Order) Place() OrderPlace { return OrderPlace{o.Placed.UnixMicro(), o.ID} }

// String is the form that ParseOrderPlace reads.
func (p OrderPlace) String() string { return fmt.Sprintf("%d-%d", p.Placed, p.ID) }

// ParseOrderPlace reads the form of String; anything else is the beginning.
func ParseOrderPlace(s string) (p OrderPlace) {
	if n, err := fmt.Sscanf(s, "%d-%d", &p.Placed, &p.ID); err != nil || n != 2 || p.Placed>>57 != 0 { // no moment that a database takes
		return OrderPlace{}
	}
	return p
}

// Call is something that an aggregator was or is to be told, with every attempt.
type Call struct {
	ID         core.ID
	Kind       string // relay.Kind
	Platform   string
	Payload    []byte // JSON, of its kind
	Actor      string
	State      string // relay.State
	Message    string // why it is so, in plain words
	Result     string // what an action brought, such as a phone number
	CreatedAt  time.Time
	FinishedAt time.Time // zero before its end
	NextAt     time.Time // of the next attempt; zero when none is due
	Attempts   []CallAttempt
}

// CallAttempt is one try of a call. Secrets are masked.
type CallAttempt struct {
	N               int
	StartedAt       time.Time
	Method, URL     string
	RequestHeaders  map[string]string
	RequestBody     []byte // the first 4 KiB
	Status          int    // 0 when there was no answer
	ErrorClass      string // "" on success
	Error           string
	ResponseHeaders map[string]string
	ResponseBody    []byte // the first 4 KiB
	Took            time.Duration
}

// RiderPlace is where the rider of an order was last seen.
type RiderPlace struct {
	Latitude, Longitude string // decimal degrees
	SeenAt              time.Time
	State               string // relay.State: done where the aggregator has it
	Message             string // why it is so, in plain words
}
