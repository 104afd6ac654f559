// Package job runs accepted work. Each job is claimed under a lease that is renewed while it runs. It is retried
// after a crash or an error, and fails after a bounded number of attempts, with the error kept. Jobs of one business
// and ordering key run in order; different businesses run concurrently.
package job

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Queue stores pending jobs. Replicas share it.
type Queue interface {
	// Claim leases at most limit due jobs to the owner, each the first of its business and ordering key. It also
	// returns when the next is due, or the zero time if none is pending.
	Claim(ctx context.Context, owner core.ID, limit int, until time.Time) ([]core.Job, time.Time, error)
	// Load reads the body of a claimed job whose Size is not 0.
	Load(ctx context.Context, job core.Job) (core.Job, error)
	// Renew extends leases and records progress.
	Renew(ctx context.Context, owner core.ID, running []Progress, until time.Time) error
	// Retry requeues a job for the given time, with the error of this attempt. An attempt without an error is not
	// counted.
	Retry(ctx context.Context, job core.Job, at time.Time, cause string) error
	// MarkFailed ends a job as failed, without a callback.
	MarkFailed(ctx context.Context, job core.Job, cause string) error
}

// Memory bounds the memory of running jobs.
type Memory interface {
	// NewReservation creates the share of one job.
	NewReservation() Reservation
}

// Reservation is the memory of one job. Its methods wait for a limited time for free memory, and return an Unavailable
// error if there is none.
type Reservation interface {
	Body(ctx context.Context, size int) error      // before a body of the size is read
	Decode(ctx context.Context, body []byte) error // before it is decoded
	Release()
}

// Handler does the work of one kind of job. Both methods end the job in the transaction that stores its outcome, and
// only while its lease holds. A job thus has exactly one outcome, however often it was started.
type Handler interface {
	// Run does the job and may call report with its progress. A job that has to wait returns core.Snooze and is run
	// again at that time. A job that cannot succeed returns core.FinalError and is not run again.
	Run(ctx context.Context, job core.Job, report func(done, total int)) error
	// Fail ends a job that failed too often, or with core.FinalError. It still sends the callback.
	Fail(ctx context.Context, job core.Job, cause error) error
}

// Progress is the progress of a running job, in objects.
type Progress struct {
	Job         core.Job
	Done, Total int
}

// Observer receives the metrics of finished attempts.
type Observer interface {
	JobEnded(kind core.JobKind, outcome string, took time.Duration)
}

// State is the state of a job.
type State string

// The states of a job.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

// Status is a job as its business sees it.
type Status struct {
	Reference  core.ID
	Kind       core.JobKind
	Subject    string
	State      State
	CreatedAt  time.Time
	StartedAt  time.Time // zero before the first attempt
	FinishedAt time.Time // zero before the end
	Attempts   int
	Done       int // objects
	Total      int // objects; 0 before they are counted
	Error      string
	Result     []byte // JSON, nil before the end
}

// FailedObjects counts the objects that were not applied, by the result of a job: those of stores, or those of each
// kind of a menu.
func FailedObjects(result []byte) int {
	var counts struct {
		Errors int `json:"errors"`
		Stats  map[string]struct {
			Errors int `json:"errors"`
		} `json:"stats"`
	}
	if len(result) == 0 || json.Unmarshal(result, &counts) != nil {
		return 0
	}
	n := counts.Errors
	for _, kind := range counts.Stats {
		n += kind.Errors
	}
	return n
}
