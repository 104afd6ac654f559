package console

import (
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

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
	// An earlier call about the same order or store must end before this one is sent.
	EarlierWaits bool
	Attempts     []CallAttempt
}

// CallAttempt is one attempt of a call. Secrets are masked, and each body is its first 4 KiB.
type CallAttempt struct {
	N int
	relay.Attempt
}

// CallRow is a call in a list. Its Attempts are not read.
type CallRow struct {
	Call
	OrderID int64  // 0: about a store
	StoreID int64  // of a call about a store; 0: about an order
	Tries   int    // the number of attempts
	Status  int    // of the last attempt; 0 without one or a response
	URL     string // of the last attempt
}

// CallFilter selects calls. A zero field matches all.
type CallFilter struct {
	State, Kind, Platform string
	OrderID               int64
	ID                    core.ID
	Status                int       // of the last response
	Text                  string    // in the payload, or in a request or response
	From, To              time.Time // From is inclusive, To is exclusive; of the creation
	OfFailure             bool      // From and To are times of failure
	Sort                  webhook.Sort
	Before                core.ID   // after this one in the order
	BeforeAt              time.Time // with a Sort by failure, when it failed
	Limit                 int
}

// After returns the filter of the calls after one.
func (f CallFilter) After(last CallRow) CallFilter {
	f.Before, f.BeforeAt = last.ID, last.FinishedAt
	return f
}
