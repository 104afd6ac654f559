package core

import "time"

// JobKind names what a job does. Jobs of one business and line run one after
// the other, in the order in which they were accepted.
type JobKind string

// Line is the kind in whose line jobs of this kind wait: category timings wait for
// the menus that make the categories, and all others for none but their own kind.
func (k JobKind) Line() JobKind {
	if k == TimingJob {
		return MenuJob
	}
	return k
}

// The kinds of job.
const (
	StoreJob JobKind = "stores"
	MenuJob  JobKind = "menu"
	// TimingJob ties categories to times.
	TimingJob JobKind = "timing_groups"
	// OrderRetryJob sends orders again that their endpoint has not accepted.
	OrderRetryJob JobKind = "order_retry"
	// RedeliveryJob sends deliveries again that a person has chosen.
	RedeliveryJob JobKind = "redelivery"
	// RecheckJob holds stored items against the rules of a platform, its subject. It
	// waits for those of the same platform alone.
	RecheckJob JobKind = "recheck"
)

// Job is a piece of accepted work that a replica holds a lease on.
type Job struct {
	ID          ID // the reference of the request
	Business    BusinessID
	Kind        JobKind
	Subject     string // such as a location_ref_id
	Body        []byte // the request, which has passed the checks of its shape
	Size        int    // of a body that is still to be read from the queue; 0: it is in Body
	CallbackURL string
	DryRun      bool // tell what would be done, and do nothing
	CreatedAt   time.Time
	Attempts    int // counting the present one
	Seq         int64
	Owner       ID     // of the lease
	Trace       Trace  // of the request
	Actor       string // who asked for it, such as key:pos; only where it is enqueued
	Unready     string // why its body cannot be read, in plain words; "": it can
	Cause       string // why the attempt before failed; "" where it did not, or ended without a word
}

// Postponed is the error of a job whose work waits for something: it is given
// back and goes on at the given time. Such an attempt is not counted.
type Postponed struct{ Until time.Time }

// Error says until when.
func (p Postponed) Error() string { return "the job waits until " + p.Until.Format(time.RFC3339Nano) }
