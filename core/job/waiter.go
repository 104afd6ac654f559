package job

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Limits of the requests of a replica that wait for their jobs: in total, and of one business, so that it leaves
// capacity for others. Each holds a connection.
const (
	MaxWaiting         = 256
	MaxBusinessWaiting = 16
)

// The interval between polls of the database grows from firstPoll to maxPoll. A poll finds the ends of jobs on other
// replicas.
const (
	firstPoll = 50 * time.Millisecond
	maxPoll   = 500 * time.Millisecond
)

// goneInterval is how often a waiting request checks whether its client is gone.
const goneInterval = 250 * time.Millisecond

// Ref identifies a job.
type Ref struct {
	Business core.BusinessID
	ID       core.ID
}

// EndedLister finds the jobs that have ended.
type EndedLister interface {
	ListEnded(ctx context.Context, jobs []Ref) ([]core.ID, error)
}

// WaitResult is how a wait ended.
type WaitResult string

// The results of a wait.
const (
	WaitEnded      WaitResult = "ended"    // the job has ended
	WaitTimedOut   WaitResult = "time_up"  // the job had not ended in time
	WaitFull       WaitResult = "full"     // too many requests wait already
	WaitStopping   WaitResult = "stopping" // the replica stops
	WaitClientGone WaitResult = "gone"     // the client has closed its connection
)

// Waiter lets requests wait for the end of their jobs, whichever replica runs these. The runner reports the ends of
// the jobs on this replica. One goroutine polls the database for the others, whatever their number.
type Waiter struct {
	jobs  EndedLister
	clock core.Clock
	log   *slog.Logger

	mu       sync.Mutex
	waiting  map[core.ID][]chan struct{}
	counts   map[core.BusinessID]int
	refs     map[core.ID]Ref
	count    int
	added    chan struct{} // buffered, one element: a request has begun to wait
	stopped  chan struct{}
	stopOnce sync.Once
}

// NewWaiter returns a Waiter. It notices the ends of jobs on other replicas only while Run runs.
func NewWaiter(ends EndedLister, clock core.Clock, log *slog.Logger) *Waiter {
	return &Waiter{jobs: ends, clock: clock, log: log, waiting: map[core.ID][]chan struct{}{},
		counts: map[core.BusinessID]int{}, refs: map[core.ID]Ref{}, added: make(chan struct{}, 1),
		stopped: make(chan struct{})}
}

// Wait waits for the end of a job until the given time. It ends earlier when gone reports that the client is gone, or
// at Stop. It does not wait at all beyond the limits.
func (w *Waiter) Wait(job Ref, until time.Time, gone func() bool) WaitResult {
	ended := w.add(job)
	if ended == nil {
		return WaitFull
	}
	defer w.remove(job, ended)
	timer, stop := w.clock.At(until)
	defer stop()
	ticker := time.NewTicker(goneInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopped:
			return WaitStopping
		case <-ended:
			return WaitEnded
		case <-timer:
			return WaitTimedOut
		case <-ticker.C:
			if gone() {
				return WaitClientGone
			}
		}
	}
}

// NotifyEnded ends the waits for a job.
func (w *Waiter) NotifyEnded(id core.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ended := range w.waiting[id] {
		close(ended)
	}
	delete(w.waiting, id)
	delete(w.refs, id)
}

// Stop ends all waits, so that a server which stops need not wait for them.
func (w *Waiter) Stop() { w.stopOnce.Do(func() { close(w.stopped) }) }

// Waiting returns how many requests wait.
func (w *Waiter) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Run polls for the ends of jobs that requests wait for, until the context ends or Stop is called.
func (w *Waiter) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause, due := firstPoll, time.Time{} // of the next poll; zero while no request waits
	for {
		var next <-chan time.Time
		if w.Waiting() == 0 {
			due = time.Time{}
		} else {
			if due.IsZero() {
				due = time.Now().Add(pause)
			}
			timer.Reset(time.Until(due))
			next = timer.C
		}
		select {
		case <-ctx.Done():
			w.Stop()
			return
		case <-w.stopped:
			return
		case <-w.added: // its job may end soon
			pause = firstPoll
			if soon := time.Now().Add(pause); soon.Before(due) {
				due = soon
			}
		case <-next:
			w.poll(ctx)
			pause = min(pause*3/2, maxPoll)
			due = time.Now().Add(pause)
		}
	}
}

// pollTimeout bounds one poll of the database.
const pollTimeout = 5 * time.Second

// poll ends the waits for the jobs that have ended.
func (w *Waiter) poll(ctx context.Context) {
	w.mu.Lock()
	jobs := make([]Ref, 0, len(w.refs))
	for _, job := range w.refs {
		jobs = append(jobs, job)
	}
	w.mu.Unlock()
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	found, err := w.jobs.ListEnded(ctx, jobs)
	if err != nil {
		w.log.Debug("ended jobs could not be read", "error", err)
		return
	}
	for _, id := range found {
		w.NotifyEnded(id)
	}
}

// add returns a channel that is closed when the job ends, or nil beyond the limits.
func (w *Waiter) add(job Ref) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= MaxWaiting || w.counts[job.Business] >= MaxBusinessWaiting {
		return nil
	}
	ended := make(chan struct{})
	w.waiting[job.ID] = append(w.waiting[job.ID], ended)
	w.refs[job.ID] = job
	w.counts[job.Business]++
	w.count++
	select {
	case w.added <- struct{}{}:
	default: // Run has not noticed an earlier one yet
	}
	return ended
}

func (w *Waiter) remove(job Ref, ended chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	if w.counts[job.Business]--; w.counts[job.Business] == 0 {
		delete(w.counts, job.Business)
	}
	w.waiting[job.ID] = slices.DeleteFunc(w.waiting[job.ID], func(one chan struct{}) bool { return one == ended })
	if len(w.waiting[job.ID]) == 0 {
		delete(w.waiting, job.ID)
		delete(w.refs, job.ID)
	}
}
