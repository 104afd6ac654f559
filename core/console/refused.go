package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// RefusedOrder is an order that was not taken. What the body did not tell is empty.
type RefusedOrder struct {
	Platform        string
	PlatformOrderID string
	Store           string // as it was named: the ref_id, or the platform's own id of the store
	Reason          string // of the last time
	Times           int64
	First, Last     time.Time
	OrderID         int64 // it came all the same; 0: it is not here
}

// RefusedFilter chooses orders that were not taken; a zero field chooses all.
type RefusedFilter struct {
	Platform string
	ID       string // the platform's
	Store    string // as it was named
	Missing  bool   // those that did not come since
	Since    time.Time
	Before   time.Time
	Limit    int
}

// Lately is how long something that was refused counts as a present trouble.
const Lately = time.Hour

// NotTaken is how many orders of a business were not taken of late, and are not
// here by now.
type NotTaken struct {
	Business core.BusinessID
	Count    int
	At       time.Time // of the last
	Reason   string    // of the last
}
