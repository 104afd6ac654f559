package webhook

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Held is the state of a delivery that waits for something other than its due time. Its subscription is disabled, its
// endpoint is being probed, or an earlier event of its order is pending at the same server.
const Held State = "held"

// Filter selects deliveries. A zero field matches all.
type Filter struct {
	State     State
	EventType core.EventType
	WebhookID int64
	ProblemID int64
	Reference string    // of the request that caused the event
	OrderID   int64     // the order of the event
	Status    int       // of the last response; 0: any
	From, To  time.Time // From is inclusive, To is exclusive; of the creation
	OfFailure bool      // From and To are times of failure, and State is Failed
	Sort      Sort
	Before    core.ID   // after this one in the order
	BeforeAt  time.Time // with a Sort by failure, when it failed
	Limit     int
}

// Sort is an order of deliveries that an index serves.
type Sort string

// The orders. Those by failure need the filter OfFailure.
const (
	NewestFirst       Sort = "" // by creation
	OldestFirst       Sort = "oldest"
	LatestFailure     Sort = "failed"
	FirstFailureFirst Sort = "failed-oldest"
)

// ByFailure reports whether the order is by the time of failure.
func (s Sort) ByFailure() bool { return s == LatestFailure || s == FirstFailureFirst }

// After returns the filter of the deliveries after one.
func (f Filter) After(last DeliveryRecord) Filter {
	f.Before, f.BeforeAt = last.ID, last.FinishedAt
	return f
}

// HeldReason is why a delivery is held.
type HeldReason string

// The reasons.
const (
	EarlierEvent  HeldReason = "earlier_event"  // of the same order is not delivered yet
	WebhookPaused HeldReason = "webhook_paused" // by a user, or after a 410
	EndpointDown  HeldReason = "endpoint_down"  // its circuit is open
)

// DeliveryRecord is the stored state of a delivery of an event to one endpoint.
type DeliveryRecord struct {
	ID                    core.ID
	EventID               core.ID // the webhook-id
	EventType             core.EventType
	Reference             string
	OrderID               int64 // the order of the event; 0: none or unknown
	Test                  bool  // a sample event, sent on request
	WebhookID             int64 // 0: to the callback_url of a request
	URL                   string
	State                 State
	HeldReason            HeldReason // of a held one
	HeldMessage           string     // the same in plain words
	HeldSince             time.Time  // of EndpointDown
	WebhookOff            bool       // its webhook is paused or disabled
	DisabledReason        string     // why the hub disabled its webhook; "" if it did not
	Attempts              int
	AttemptsBeforeRestart int // attempts of a pending or held one before its schedule was restarted by hand
	CreatedAt             time.Time
	NextAttempt           time.Time // of a pending one
	FinishedAt            time.Time // of a delivered or failed one
	LastStatus            int       // of the last attempt; 0 without an attempt or response
	LastError             string    // of the last attempt, in plain words
	LastClass             ErrorClass
	Body                  []byte // JSON as sent; set when one delivery is read and its event is still stored
	TraceID               string // the trace of the event's cause; "": none
	ProblemID             int64  // the problem of a failed one; 0: none
}

// CanResend reports whether the delivery can be sent now.
func (d DeliveryRecord) CanResend() bool { return d.HeldReason != EarlierEvent && !d.WebhookOff }

// MaxAttemptsRead is how many attempts of a delivery are read. A delivery can be resent any number of times.
const MaxAttemptsRead = 200

// AttemptRecord is a recorded attempt.
type AttemptRecord struct {
	N int // counted from 1
	Attempt
}
