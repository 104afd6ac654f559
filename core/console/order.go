package console

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
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
	Before          OrderCursor
	Limit           int
}

// OrderCursor is a position in a list of orders, newest first: after the order with this time of placement and id. The
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

// Call is a call to an aggregator, with every attempt.
type Call struct {
	ID         core.ID
	Kind       string // relay.Kind
	Platform   string
	Payload    []byte // JSON, of its kind
	Actor      string
	State      string // relay.State
	Message    string // the reason of the state, in plain words
	Result     string // the result of an action, such as a phone number
	CreatedAt  time.Time
	FinishedAt time.Time // zero before it finishes
	NextAt     time.Time // of the next attempt; zero if none is due
	Attempts   []CallAttempt
}

// CallAttempt is one attempt of a call. Secrets are masked.
type CallAttempt struct {
	N               int
	StartedAt       time.Time
	Method, URL     string
	RequestHeaders  map[string]string
	RequestBody     []byte // the first 4 KiB
	Status          int    // 0 without a response
	ErrorClass      string // "" on success
	Error           string
	ResponseHeaders map[string]string
	ResponseBody    []byte // the first 4 KiB
	Duration        time.Duration
	Step            string // of a plan with several requests; "": it has one
}

// RiderLocation is the last known location of an order's rider.
type RiderLocation struct {
	Latitude, Longitude string // decimal degrees
	ReceivedAt          time.Time
	State               string // relay.State: done if the aggregator has it
	Message             string // the reason of the state, in plain words
}
