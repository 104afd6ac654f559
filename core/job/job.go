// Package job runs accepted work: claimed under a lease that is renewed while
// it runs, tried again after a crash or an error, given up after a bounded
// number of attempts with the error kept. Jobs of one business and line keep
// their order; different businesses run side by side.
package job

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// Queue is where jobs wait; replicas share it.
type Queue interface {
	// Claim leases to the owner at most limit jobs that are due, each the first of
	// its business and line, and tells when the next will be due (zero: none waits).
	Claim(ctx context.Context, owner core.ID, limit int, until time.Time) ([]core.Job, time.Time, error)
	// Load reads the body of a claimed job whose Size is not 0.
	Load(ctx context.Context, job core.Job) (core.Job, error)
	// Renew extends leases and records progress.
	Renew(ctx context.Context, owner core.ID, running []Progress, until time.Time) error
	// Retry gives a job back, to be claimed at the given time, with the error of
	// this attempt; an attempt that did not fail is given back without one and not counted.
	Retry(ctx context.Context, job core.Job, at time.Time, cause string) error
	// GiveUp ends a job as failed, without a word to anybody.
	GiveUp(ctx context.Context, job core.Job, cause string) error
}

// Memory bounds what running jobs hold.
type Memory interface {
	// Ask begins the share of one job.
	Ask() Share
}

// Share is the memory of one job. Its methods wait a while for memory to become free,
// and return an Unavailable error if none does.
type Share interface {
	Body(ctx context.Context, size int) error      // before a body of the size is read
	Decode(ctx context.Context, body []byte) error // before it is decoded
	Release()
}

// Handler does the work of one kind. Both methods end the job in the
// transaction that stores its outcome, and only while its lease still holds:
// so a job has exactly one outcome, however often it was begun.
type Handler interface {
	// Run does the job. report may be called to tell how far it is. A job that has
	// to wait for something returns core.Postponed and is run again then.
	Run(ctx context.Context, job core.Job, report func(done, total int)) error
	// Fail ends a job that failed too often; the callback still goes out.
	Fail(ctx context.Context, job core.Job, cause error) error
}

// Progress is how far a running job is, in objects.
type Progress struct {
	Job         core.Job
	Done, Total int
}

// Observer is told of ended attempts, for metrics.
type Observer interface {
	JobEnded(kind core.JobKind, outcome string, took time.Duration)
}

// State is where a job stands.
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
