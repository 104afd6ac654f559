package console

import (
	"time"

	"github.com/servery-hub/servery/core"

	"github.com/servery-hub/servery/core/order"
)

// RejectedOrder is a rejected order. Fields that the body did not contain are empty.
type RejectedOrder struct {
	Platform        string
	PlatformOrderID string
	Store           string // as sent: the ref_id, or the platform's own id of the store
	Reason          string // of the last attempt
	HubFault        bool   // the reason is no fault of the order
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
	Fault    RejectionFault
	Since    time.Time
	Before   time.Time
	Limit    int
}

// RejectionFault says whose fault a rejection is.
type RejectionFault string

// The faults of rejections. The zero value is any.
const (
	OrderFault RejectionFault = "order" // the order is wrong
	HubFault   RejectionFault = "hub"   // the order is correct, but the hub could not accept it
)

// RejectionWindow is how long a rejection counts as a current problem.
const RejectionWindow = 24 * time.Hour

// RejectedOrders is the number of a business's orders that were rejected recently and have not been accepted since.
// Those with a fault in the order and those with another reason are counted apart.
type RejectedOrders struct {
	Business core.BusinessID
	HubFault bool
	Count    int       // a request without a readable id counts as one order
	At       time.Time // of the last
	Reason   string    // of the last
}

// OrderRepeat is a repeat of an order with other content, which the hub did not apply.
type OrderRepeat struct {
	Differences string // in short, for people
	Actor       string // of the last time
	Times       int
	First, Last time.Time
}

// OrderFollowUp is what the platform of an order sent about it.
type OrderFollowUp struct {
	Kind  string // of order.FollowUp
	Note  string // why it changed nothing; "": it did
	Actor string
	At    time.Time
}

// OrderRevision is a change of an order at its platform.
type OrderRevision struct {
	ChangeID string
	Reason   string
	Note     string // why it was rejected; "": it was not
	Changes  order.UpdateSummary
	Actor    string
	At       time.Time
	Body     []byte // the changed order; nil: rejected
}
