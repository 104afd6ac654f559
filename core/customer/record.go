package customer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Extent is how much is stored about a customer.
type Extent struct {
	Orders     int
	Erased     int // of the orders, earlier
	Unfinished int // of the orders: with a delivery or call that has not ended
	Deliveries int
	Calls      int  // to aggregators
	More       bool // there are more orders than MaxCounted, and only these were counted
}

// MaxCounted bounds the orders of a customer that are counted. Aggregators may send one number for all customers.
const MaxCounted = 200

// ToErase returns the number of orders with personal data.
func (e Extent) ToErase() int { return e.Orders - e.Erased }

// Erasure is a request to erase the personal data of a customer.
type Erasure struct {
	ID      core.ID
	Subject Subject
	Actor   string
	At      time.Time // of the request; later orders are not erased
	Erased  int       // orders so far
	Waiting int       // orders with a delivery or call that had not ended at the last run
	DoneAt  time.Time // zero: not done
}

// maxKeepDays bounds the retention of personal data.
const maxKeepDays = 3650

// Retention is for how many days a business keeps personal data of orders. 0 is as long as the orders.
type Retention int

// ParseRetention parses a number of days, or off. It returns Invalid for any other text.
func ParseRetention(text string) (Retention, error) {
	if text = strings.TrimSpace(text); text == "off" || text == "0" {
		return 0, nil
	}
	days, err := strconv.Atoi(text)
	if err != nil || days < 1 || days > maxKeepDays {
		return 0, core.Errorf(core.Invalid, "keep-personal-data must be off, or a number of days from 1 to %d",
			maxKeepDays)
	}
	return Retention(days), nil
}

// String returns the form that ParseRetention parses.
func (r Retention) String() string {
	if r == 0 {
		return "off"
	}
	return strconv.Itoa(int(r))
}

// Before returns the time before which orders have no personal data.
func (r Retention) Before(now time.Time) time.Time { return now.AddDate(0, 0, -int(r)) }

// Export is what is stored about one order of a customer, as the customer receives it.
type Export struct {
	OrderID         int64           `json:"order_id"`
	Platform        string          `json:"platform"`
	PlatformOrderID string          `json:"platform_order_id"`
	Store           string          `json:"store"`
	State           string          `json:"state"`
	PlacedAt        time.Time       `json:"placed_at"`
	ErasedAt        *time.Time      `json:"erased_at,omitzero"`
	Events          []ExportedEvent `json:"events"`
	States          jsontext.Value  `json:"states"`
	Riders          jsontext.Value  `json:"riders"`
	RiderLocations  jsontext.Value  `json:"rider_locations"`
	Calls           jsontext.Value  `json:"calls"`
}

// ExportedEvent is an event of an order, and where it was sent.
type ExportedEvent struct {
	ID     core.ID        `json:"id"`
	Type   core.EventType `json:"type"`
	Body   jsontext.Value `json:"body"`
	SentTo jsontext.Value `json:"sent_to"`
}

// MaxExported is the number of orders in an export. The newest are in it.
const MaxExported = 1000

// ExportName returns the name of the file of an export.
func ExportName(s Subject) string { return fmt.Sprintf("customer-%s.json", s) }
