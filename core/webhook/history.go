package webhook

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Held is the state of a delivery that waits for something else than its time:
// its subscription is switched off, its endpoint fails and is probed, or an
// earlier event of its order is still on its way to the same server.
const Held State = "held"

// Filter chooses deliveries; a zero field chooses all.
type Filter struct {
	State     State
	EventType core.EventType
	WebhookID int64
	Reference string    // of the request that the event answers
	OrderID   int64     // that the event tells of
	From, To  time.Time // created at or after the one, and before the other
	Before    core.ID   // older than this one
	Limit     int
}

// DeliveryRecord is where the telling of an event to one endpoint stands.
type DeliveryRecord struct {
	ID          core.ID
	EventID     core.ID // the webhook-id
	EventType   core.EventType
	Reference   string
	OrderID     int64 // that the event tells of; 0: of none, or none is known
	WebhookID   int64 // 0: to the callback_url of a request
	URL         string
	State       State
	HeldBecause string    // of a held one, in plain words
	HeldSince   time.Time // that HeldBecause tells, as RFC 3339 in UTC; zero: it tells none
	Attempts    int
	Base        int // of those of a pending or held one, before its schedule was begun anew by hand
	CreatedAt   time.Time
	NextAttempt time.Time // of a pending one
	FinishedAt  time.Time // of one that came to an end
	LastStatus  int       // of the last attempt; 0 when there was none, or no answer
	LastError   string    // of the last attempt, in plain words
	LastClass   ErrorClass
	Body        []byte // JSON as sent, where one delivery is read and its event is kept
	TraceID     string // of what its event came of; "": of nothing that was traced
}

// AttemptRecord is a recorded attempt.
type AttemptRecord struct {
	N int // 1 is the first
	Attempt
}
