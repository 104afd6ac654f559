package console

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// MaxProblemCount bounds the counts of a problem. It is lower than MaxCount, because a list counts each problem.
const MaxProblemCount = 1000

// ProblemState is what users did about a problem.
type ProblemState string

// The states of a problem. One that fails again after it was resolved is open again.
const (
	ProblemOpen         ProblemState = "open"
	ProblemAcknowledged ProblemState = "acknowledged"
	ProblemResolved     ProblemState = "resolved"
)

// ProblemTransition is a change of state. From is the state that the user saw.
type ProblemTransition struct {
	From, To ProblemState
}

// Problem is a cause of failed deliveries: a server of a business, the class of the error and the response status.
type Problem struct {
	Business   core.BusinessID
	ID         int64
	Server     string // host and port
	Class      webhook.ErrorClass
	Status     int              // 0 without a response
	Webhooks   []int64          // that have failed; 0: a callback_url
	Events     []core.EventType // of those of them that still exist
	FirstSeen  time.Time
	LastSeen   time.Time // to about 10 s
	State      ProblemState
	ChangedBy  string    // who set the state last; "": no user yet
	ChangedAt  time.Time // when
	ReopenedAt time.Time // when it failed again after ChangedBy resolved it; zero: it did not
	Assignee   string    // email address; "": none
	Note       string    // the latest
	Failed     int       // failed deliveries that were not resent since; at most MaxProblemCount
}

// ProblemObject returns the name of a problem in the audit trail.
func ProblemObject(id int64) string { return fmt.Sprintf("problem/%d", id) }

// ProblemFilter selects problems of businesses. A zero field matches all, as do nil businesses.
type ProblemFilter struct {
	Businesses []core.BusinessID
	States     []ProblemState
	Assignee   string
	Unassigned bool
	WithFailed bool      // with failed deliveries that were not resent since
	BeforeTime time.Time // of the last failure; with BeforeID the position after which the list continues
	BeforeID   int64
	Limit      int
}

// ProblemResend is a resend of the failed deliveries of a problem.
type ProblemResend struct {
	Reference core.ID // of its job
	State     string  // job.State
	Error     string  // why the job failed
	Actor     string
	CreatedAt time.Time
	Outcome   webhook.ResendOutcome
}

// Running reports whether outcomes are still counted.
func (r ProblemResend) Running() bool { return r.State == "queued" || r.State == "running" }

// ProblemTarget is a webhook, or the callback_urls, with failed deliveries of a problem.
type ProblemTarget struct {
	Webhook    int64 // 0: a callback_url
	EventType  core.EventType
	URL        string // of one of them
	Failed     int
	LastFailed time.Time
}
