package core

import (
	"fmt"
	"time"
)

// JobKind is the kind of work that a job does.
type JobKind string

// The kinds of job.
const (
	StoreJob JobKind = "stores"
	MenuJob  JobKind = "menu"
	// TimingJob assigns times to categories.
	TimingJob JobKind = "timing_groups"
	// OrderRetryJob resends orders that their endpoint has not accepted.
	OrderRetryJob JobKind = "order_retry"
	// BulkResendJob resends deliveries that a person has selected.
	BulkResendJob JobKind = "redelivery"
	// ProblemResendJob resends the failed deliveries of a problem, its subject, and counts their outcomes.
	ProblemResendJob JobKind = "problem_resend"
	// RecheckJob checks stored items against the rules of a platform, its subject.
	RecheckJob JobKind = "recheck"
)

// Job is accepted work that a replica holds a lease on.
type Job struct {
	ID          ID // the reference of the request
	Business    BusinessID
	Kind        JobKind
	Subject     string // such as a location_ref_id
	Body        []byte // the request, which has passed the structural checks
	Size        int    // of a body still to be read from the queue; 0 if it is in Body
	CallbackURL string
	DryRun      bool // report what would be done, and change nothing
	CreatedAt   time.Time
	StartedAt   time.Time // of its first attempt; set only while it is leased
	Attempts    int       // including the current one
	Seq         int64
	Owner       ID     // of the lease
	Trace       Trace  // of the request
	Actor       string // who requested it, such as key:pos; set only when it is enqueued
	BodyError   string // why its body cannot be read, in plain words; "" if it can
	LastError   string // why the previous attempt failed; "" if it did not, or if it left no error
}

// OrderingKey returns the ordering key of the job. Jobs of one business and ordering key run one at a time, in the
// order in which they were accepted. Category timings share the key of menus, because a menu creates the categories
// that they refer to. Rechecks have one key for each platform, and resends of problems one for each problem. Every
// other kind has its own key.
func (j Job) OrderingKey() string {
	switch j.Kind {
	case TimingJob:
		return string(MenuJob)
	case RecheckJob, ProblemResendJob:
		return string(j.Kind) + "/" + j.Subject
	default:
		return string(j.Kind)
	}
}

// Snooze is the error of a job that has to wait. The job is released and continues at the given time. Such an attempt
// is not counted.
type Snooze struct{ Until time.Time }

// Error returns a message with the time.
func (p Snooze) Error() string { return "the job waits until " + p.Until.Format(time.RFC3339Nano) }

// FinalError is the error of a job that another attempt cannot correct, such as a stored request that cannot be read.
// The job fails without a retry.
type FinalError struct{ Cause error }

// Error returns the message of the cause.
func (e FinalError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e FinalError) Unwrap() error { return e.Cause }

// UnreadableRequest returns the error of a job whose stored request cannot be decoded. It is a FinalError if the
// request itself is the cause.
func UnreadableRequest(err error) error {
	wrapped := fmt.Errorf("reading a stored request: %w", err)
	if CodeOf(err) == Invalid {
		return FinalError{wrapped}
	}
	return wrapped
}

// UnprocessedRequest returns the message of each object of a request that the hub could not execute.
func UnprocessedRequest(reference ID) string {
	return "the hub could not process the request: resend it (reference " + reference.String() + ")"
}
