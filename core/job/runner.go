package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Config sets the runner's bounds. Zero values take the defaults.
type Config struct {
	Parallel    int           // jobs at once: 4
	MaxAttempts int           // then the job fails: 25
	Lease       time.Duration // 15 s, renewed every third of it
	Poll        time.Duration // 1 s
	Limit       time.Duration // of one attempt: 5 min; then it is cut off and counts as failed
	StopWithin  time.Duration // 10 s for running jobs to end at a stop; then they are cut off and begun again elsewhere
	Memory      Memory        // nil: no bound
	Tracer      *core.Tracer  // nil: none
}

func (c Config) withDefaults() Config {
	c.Parallel = cmp.Or(c.Parallel, 4)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 25)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Limit = cmp.Or(c.Limit, 5*time.Minute)
	c.StopWithin = cmp.Or(c.StopWithin, 10*time.Second)
	if c.Memory == nil {
		c.Memory = unbounded{}
	}
	return c
}

// unbounded is memory without a bound.
type unbounded struct{}

func (unbounded) Ask() Share                           { return unbounded{} }
func (unbounded) Body(context.Context, int) error      { return nil }
func (unbounded) Decode(context.Context, []byte) error { return nil }
func (unbounded) Release()                             {}

// Runner runs the jobs of one replica. Run owns every goroutine it starts.
type Runner struct {
	config   Config
	queue    Queue
	handlers map[core.JobKind]Handler
	clock    core.Clock
	observer Observer
	log      *slog.Logger
	owner    core.ID
	bell     core.Bell // look at the queue

	mu      sync.Mutex
	running map[core.ID]*Progress
	ended   sync.WaitGroup
}

// NewRunner makes a runner; nothing happens before Run.
func NewRunner(config Config, queue Queue, handlers map[core.JobKind]Handler, clock core.Clock, observer Observer, log *slog.Logger) *Runner {
	return &Runner{
		config: config.withDefaults(), queue: queue, handlers: handlers, clock: clock, observer: observer, log: log,
		owner: core.NewID(clock.Now()), bell: core.NewBell(), running: map[core.ID]*Progress{},
	}
}

// Wake makes the runner look at the queue soon. It never blocks.
func (r *Runner) Wake() { r.bell.Wake() }

// Run works until the context ends, then lets running jobs end (at most
// StopWithin) and returns.
func (r *Runner) Run(ctx context.Context) {
	jobs, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		r.renew(jobs)
	}()
	for ctx.Err() == nil {
		r.bell.Wait(ctx, r.clock, r.claim(ctx, jobs))
	}
	core.Drain(&r.ended, r.config.StopWithin, func() {
		r.log.Warn("cutting off jobs that did not end in time; they begin again")
		cutOff()
	})
	cutOff()
	<-renewing
}

// claim starts what may start and returns when to look again.
func (r *Runner) claim(ctx, jobs context.Context) time.Time {
	next := r.clock.Now().Add(r.config.Poll)
	r.mu.Lock()
	room := r.config.Parallel - len(r.running)
	r.mu.Unlock()
	if room <= 0 {
		return next
	}
	claimed, due, err := r.queue.Claim(ctx, r.owner, room, r.clock.Now().Add(r.config.Lease))
	if err != nil {
		if ctx.Err() == nil {
			r.log.Error("jobs could not be claimed", "error", err)
		}
		return next
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range claimed {
		progress := &Progress{Job: job}
		r.running[job.ID] = progress
		r.ended.Add(1)
		go r.work(jobs, progress)
	}
	if len(claimed) == 0 && !due.IsZero() && due.Before(next) {
		next = due
	}
	return next
}

// work does one attempt at a job and looks for more.
func (r *Runner) work(ctx context.Context, progress *Progress) {
	defer r.ended.Done()
	defer r.Wake()
	job := progress.Job
	log := r.log.With("job", job.ID, "kind", job.Kind, "business", job.Business, "attempt", job.Attempts)
	ctx, span := r.config.Tracer.Begin(job.Trace.In(ctx), core.WorkSpan, "job", string(job.Kind))
	if id := core.TraceOf(ctx).ID(); id != "" {
		log = log.With("trace_id", id)
	}
	span.Text("servery.job", job.ID.String())
	began := time.Now()
	share := r.config.Memory.Ask()
	defer share.Release()
	job, err := r.load(ctx, job, share)
	if err == nil {
		err = r.attempt(ctx, r.run(job, progress))
	}
	outcome := "done"
	if r.isLast(ctx, job, err) {
		outcome = "failed"
		r.end(ctx, log, job, err)
	}
	r.mu.Lock()
	delete(r.running, job.ID)
	r.mu.Unlock()
	var postponed core.Postponed
	switch {
	case outcome == "failed":
	case err == nil:
		log.Info("job done", "took", time.Since(began))
	case errors.As(err, &postponed):
		outcome = "waiting"
		r.giveBack(ctx, log, job, postponed.Until, "")
	case core.CodeOf(err) == core.Conflict:
		outcome = "lost"
		log.Warn("the lease was lost; whoever holds it now does the job")
	default:
		outcome = "retry"
		r.again(ctx, log, job, err)
	}
	r.observer.JobEnded(job.Kind, outcome, time.Since(began))
	if err == nil || outcome == "waiting" {
		span.End("")
	} else {
		span.End(err.Error())
	}
}

// isLast tells whether an attempt failed and no other is to follow it.
func (r *Runner) isLast(ctx context.Context, job core.Job, err error) bool {
	var postponed core.Postponed
	return err != nil && !errors.As(err, &postponed) && core.CodeOf(err) != core.Conflict &&
		job.Attempts >= r.config.MaxAttempts && ctx.Err() == nil && r.handlers[job.Kind] != nil
}

// failTries is how many attempts may be made to tell that a job failed. A job
// whose request cannot be read, or is what ends the process, fails without a word.
const failTries = 5

// failPause is how long the next attempt to tell of a failure waits.
const failPause = 5 * time.Second

// end ends a job as failed. Where that fails it is given back with its cause, and the
// next attempt comes here.
func (r *Runner) end(ctx context.Context, log *slog.Logger, job core.Job, cause error) {
	log.Error("job failed for good", "error", cause)
	err := r.attempt(ctx, func(ctx context.Context) error {
		if job.Attempts >= r.config.MaxAttempts+failTries {
			return r.queue.GiveUp(ctx, job, cause.Error())
		}
		return r.handlers[job.Kind].Fail(ctx, job, cause)
	})
	if err != nil {
		log.Error("the failure could not be recorded", "error", err)
		r.giveBack(ctx, log, job, r.clock.Now().Add(failPause), cause.Error())
	}
}

// again gives a job back for another attempt.
func (r *Runner) again(ctx context.Context, log *slog.Logger, job core.Job, cause error) {
	text, pause := cause.Error(), min(time.Second<<min(job.Attempts-1, 6), time.Minute)
	if ctx.Err() != nil { // cut off
		text, pause = "", 0
	}
	log.Warn("job attempt failed; it will be tried again", "error", cause, "in", pause)
	r.giveBack(ctx, log, job, r.clock.Now().Add(pause), text)
}

// giveBack has a job claimed again at the given time.
func (r *Runner) giveBack(ctx context.Context, log *slog.Logger, job core.Job, at time.Time, cause string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := r.queue.Retry(ctx, job, at, cause); err != nil {
		log.Error("job could not be given back; its lease will run out", "error", err)
	}
}

// attempt does something for a job, for a limited time; a panic is an error like any other.
func (r *Runner) attempt(ctx context.Context, do func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx)
}

// memoryPause is when a job that found no memory is claimed again.
const memoryPause = time.Second

// load reserves the memory of a job and reads its body. Without memory the job waits.
func (r *Runner) load(ctx context.Context, job core.Job, share Share) (core.Job, error) {
	err := share.Body(ctx, job.Size)
	if err == nil && job.Size > 0 {
		job, err = r.queue.Load(ctx, job)
	}
	if err == nil {
		err = share.Decode(ctx, job.Body)
	}
	if core.CodeOf(err) == core.Unavailable {
		err = core.Postponed{Until: r.clock.Now().Add(memoryPause)}
	}
	return job, err
}

// run runs the handler of a job that may be tried still.
func (r *Runner) run(job core.Job, progress *Progress) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		handler := r.handlers[job.Kind]
		switch {
		case handler == nil:
			return errors.New("no handler for this kind of job")
		case job.Attempts > r.config.MaxAttempts:
			return errors.New(cmp.Or(job.Cause, "the last attempt ended without a word, as when the process that makes it is ended for the memory that it takes"))
		case job.Unready != "":
			return errors.New(job.Unready)
		}
		return handler.Run(ctx, job, func(done, total int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			progress.Done, progress.Total = done, total
		})
	}
}

// Busy tells whether a job is running in this replica.
func (r *Runner) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running) > 0
}

// renew extends the leases of running jobs, and records their progress, until
// the context ends.
func (r *Runner) renew(ctx context.Context) {
	for {
		core.Pause(ctx, r.clock, r.clock.Now().Add(r.config.Lease/3))
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		running := make([]Progress, 0, len(r.running))
		for _, progress := range r.running {
			running = append(running, *progress)
		}
		r.mu.Unlock()
		if len(running) == 0 {
			continue
		}
		attempt, cancel := context.WithTimeout(ctx, r.config.Lease/3)
		if err := r.queue.Renew(attempt, r.owner, running, r.clock.Now().Add(r.config.Lease)); err != nil {
			r.log.Warn("leases could not be renewed", "error", err)
		}
		cancel()
	}
}
