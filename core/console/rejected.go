package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// RejectedOrder is a rejected order. Fields that the body did not contain are empty.
type RejectedOrder struct {
	Platform        string
	PlatformOrderID string
	Store           string // as sent: the ref_id, or the platform's own id of the store
	Reason          string // of the last attempt
	Times           int64
	First, Last     time.Time
	OrderID         int64 // the order was accepted later; 0: it was not
}

// RejectedFilter selects rejected orders. A zero field matches all.
type RejectedFilter struct {
	Platform string
	ID       string // of the platform
	Store    string // as sent
	Missing  bool   // only those not accepted since
	Since    time.Time
	Before   time.Time
	Limit    int
}

// RejectionWindow is how long a rejection counts as a current problem.
const RejectionWindow = time.Hour

// RejectedOrders is the number of a business's orders that were rejected recently and have not been accepted since.
type RejectedOrders struct {
	Business core.BusinessID
	Count    int
	At       time.Time // of the last
	Reason   string    // of the last
}
