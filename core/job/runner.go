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
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/retry"
)

// Config sets the runner's bounds. Zero values take the defaults.
type Config struct {
	Owner       core.ID       // of this replica in leases; the zero id: a new one
	Parallel    int           // jobs at once: 4
	MaxAttempts int           // then the job fails: 25
	Lease       time.Duration // 15 s, renewed every third of it
	Poll        time.Duration // as in queue.Config
	Limit       time.Duration // of one attempt: 5 min; then it is cancelled and counts as failed
	StopWithin  time.Duration // 10 s for running jobs to end at a stop; then they are cancelled and restarted elsewhere
	Memory      Memory        // nil: no bound
	OnEnded     func(core.ID) // called with each job that has ended on this replica; may be nil
	Tracer      *core.Tracer  // nil: none
}

func (c Config) withDefaults() Config {
	c.Parallel = cmp.Or(c.Parallel, 4)
	c.MaxAttempts = cmp.Or(c.MaxAttempts, 25)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Limit = cmp.Or(c.Limit, 5*time.Minute)
	if c.Memory == nil {
		c.Memory = unboundedMemory{}
	}
	if c.OnEnded == nil {
		c.OnEnded = func(core.ID) {}
	}
	return c
}

// unboundedMemory is a Memory without a bound.
type unboundedMemory struct{}

func (unboundedMemory) NewReservation() Reservation          { return unboundedMemory{} }
func (unboundedMemory) Body(context.Context, int) error      { return nil }
func (unboundedMemory) Decode(context.Context, []byte) error { return nil }
func (unboundedMemory) Release()                             {}

// Runner runs the jobs of one replica. Run owns every goroutine it starts.
type Runner struct {
	*queue.Engine[core.Job, struct{}]
	config   Config
	queue    Queue
	handlers map[core.JobKind]Handler
	clock    core.Clock
	observer Observer
	log      *slog.Logger

	mu      sync.Mutex
	running map[core.ID]*Progress
}

// Dependencies are the dependencies of a runner. All are required.
type Dependencies struct {
	Queue    Queue
	Handlers map[core.JobKind]Handler
	Clock    core.Clock
	Observer Observer
	Log      *slog.Logger
}

// NewRunner returns a runner that is idle until Run.
func NewRunner(config Config, d Dependencies) *Runner {
	config = config.withDefaults()
	r := &Runner{
		config: config, queue: d.Queue, handlers: d.Handlers, clock: d.Clock, observer: d.Observer, log: d.Log,
		running: map[core.ID]*Progress{},
	}
	r.Engine = queue.New(queue.Config{
		Name: "jobs", Owner: config.Owner, Capacity: config.Parallel, Batch: config.Parallel, KeyLimit: config.Parallel,
		FirstLimit: config.Parallel, Lease: config.Lease, Poll: config.Poll,
		StopWithin: config.StopWithin,
	}, policy{r}, d.Clock, d.Log)
	return r
}

// Run works until the context ends, then waits for running jobs (at most StopWithin) and returns.
func (r *Runner) Run(ctx context.Context) {
	jobs, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { r.renew(jobs) })
	r.Engine.Run(ctx)
	stop()
	renewing.Wait()
}

// policy is how the runner processes its queue (queue.Policy).
type policy struct{ *Runner }

// Claim leases due jobs. The queue itself keeps the jobs of an ordering key apart.
func (p policy) Claim(ctx context.Context, owner core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[core.Job], err error) {
	batch.Items, batch.NextDue, err = p.queue.Claim(ctx, owner, capacity.Items, until)
	return batch, err
}

// Lease describes a claimed job. All jobs share one key, because they run in this process. The runner renews their
// leases.
func (p policy) Lease(job core.Job) queue.Lease { return queue.Lease{ID: job.ID.String()} }

// Run makes one attempt at a job, which records its own outcome.
func (p policy) Run(ctx context.Context, job core.Job) (struct{}, queue.Outcome) {
	p.runJob(ctx, job)
	return struct{}{}, queue.Outcome{Next: queue.Done}
}

// Finish is never called, because jobs record their own outcomes.
func (policy) Finish(context.Context, core.ID, []struct{}) (queue.FinishResult, error) {
	return queue.FinishResult{}, nil
}

// Release returns jobs that have not started.
func (p policy) Release(ctx context.Context, _ core.ID, jobs []core.Job) error {
	for _, job := range jobs {
		if err := p.queue.Retry(ctx, job, p.clock.Now(), ""); err != nil {
			return err
		}
	}
	return nil
}

// runJob makes one attempt at a job.
func (r *Runner) runJob(ctx context.Context, job core.Job) {
	progress := r.register(job)
	log := r.log.With("job", job.ID, "kind", job.Kind, "business", job.Business, "attempt", job.Attempts)
	ctx, span := r.config.Tracer.Start(job.Trace.NewContext(ctx), core.ConsumerSpan, "job", string(job.Kind))
	if id := core.TraceFromContext(ctx).ID(); id != "" {
		log = log.With("trace_id", id)
	}
	span.SetString("servery.job", job.ID.String())
	began := time.Now()
	share := r.config.Memory.NewReservation()
	defer share.Release()
	job, err := r.load(ctx, job, share)
	if err == nil {
		err = r.withLimit(ctx, r.handlerFunc(job, progress))
	}
	outcome := "done"
	if r.isFinalFailure(ctx, job, err) {
		outcome = r.fail(ctx, log, job, err)
	}
	r.unregister(job)
	var snooze core.Snooze
	switch {
	case outcome != "done":
	case err == nil:
		r.config.OnEnded(job.ID)
		log.Info("job done", "took", time.Since(began))
	case errors.As(err, &snooze):
		outcome = "waiting"
		r.requeue(ctx, log, job, snooze.Until, "")
	case core.CodeOf(err) == core.Conflict:
		outcome = "lost"
		log.Warn("job lease lost")
	default:
		outcome = "retry"
		r.retry(ctx, log, job, err)
	}
	r.observer.JobEnded(job.Kind, outcome, time.Since(began))
	if err == nil || outcome == "waiting" {
		span.End("")
	} else {
		span.End(err.Error())
	}
}

// register adds a job to those whose leases are renewed.
func (r *Runner) register(job core.Job) *Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	progress := &Progress{Job: job}
	r.running[job.ID] = progress
	return progress
}

func (r *Runner) unregister(job core.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, job.ID)
}

// isFinalFailure reports whether an attempt failed and no other is to follow it.
func (r *Runner) isFinalFailure(ctx context.Context, job core.Job, err error) bool {
	var snooze core.Snooze
	return err != nil && !errors.As(err, &snooze) && core.CodeOf(err) != core.Conflict &&
		(job.Attempts >= r.config.MaxAttempts || isFinal(err)) && ctx.Err() == nil && r.handlers[job.Kind] != nil
}

// isFinal reports whether another attempt cannot correct an error.
func isFinal(err error) bool {
	var final core.FinalError
	return errors.As(err, &final)
}

// failAttempts bounds the further attempts to report that a job failed. A job whose report itself ends the process
// fails without a callback.
const failAttempts = 5

// failPause is the delay before the next attempt to report a failure.
const failPause = 5 * time.Second

// fail ends a job as failed and returns the outcome. If that fails, it requeues the job with its cause, and the next
// attempt calls fail again. A job whose report can never succeed fails without a callback.
func (r *Runner) fail(ctx context.Context, log *slog.Logger, job core.Job, cause error) string {
	log.Error("job failed", "error", cause)
	err := r.withLimit(ctx, func(ctx context.Context) error {
		if job.Attempts >= r.config.MaxAttempts+failAttempts {
			return r.queue.MarkFailed(ctx, job, cause.Error())
		}
		err := r.handlers[job.Kind].Fail(ctx, job, cause)
		if isFinal(err) {
			log.Error("reporting a failed job failed", "error", err)
			return r.queue.MarkFailed(ctx, job, cause.Error())
		}
		return err
	})
	if err != nil {
		log.Error("recording a failed job failed", "error", err)
		if core.CodeOf(err) == core.Conflict {
			return "lost"
		}
		r.requeue(ctx, log, job, r.clock.Now().Add(failPause), cause.Error())
		return "retry"
	}
	r.config.OnEnded(job.ID)
	return "failed"
}

// retry requeues a job for another attempt.
func (r *Runner) retry(ctx context.Context, log *slog.Logger, job core.Job, cause error) {
	text := cause.Error()
	pause, _ := retry.Schedule{Attempts: r.config.MaxAttempts, FirstWait: time.Second, MaxWait: time.Minute}.
		After(job.Attempts)
	if ctx.Err() != nil { // the runner is stopping
		text, pause = "", 0
	}
	log.Warn("job attempt failed", "error", cause, "in", pause)
	r.requeue(ctx, log, job, r.clock.Now().Add(pause), text)
}

// requeue returns a job to the queue until the given time.
func (r *Runner) requeue(ctx context.Context, log *slog.Logger, job core.Job, at time.Time, cause string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := r.queue.Retry(ctx, job, at, cause); err != nil {
		log.Error("requeueing a job failed", "error", err)
	}
}

// withLimit calls do with a time limit and turns a panic into an error.
func (r *Runner) withLimit(ctx context.Context, do func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx)
}

// memoryPause is the delay of a job for which no memory is free.
const memoryPause = time.Second

// load reserves the memory of a job and reads its body. Without free memory the job waits.
func (r *Runner) load(ctx context.Context, job core.Job, share Reservation) (core.Job, error) {
	err := share.Body(ctx, job.Size)
	if err == nil && job.Size > 0 {
		job, err = r.queue.Load(ctx, job)
	}
	if err == nil {
		err = share.Decode(ctx, job.Body)
	}
	if core.CodeOf(err) == core.Unavailable {
		err = core.Snooze{Until: r.clock.Now().Add(memoryPause)}
	}
	return job, err
}

// handlerFunc returns a function that runs the handler of a job, unless the job must not be retried.
func (r *Runner) handlerFunc(job core.Job, progress *Progress) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		handler := r.handlers[job.Kind]
		switch {
		case handler == nil:
			return errors.New("no handler for this kind of job")
		case job.Attempts > r.config.MaxAttempts:
			return errors.New(cmp.Or(job.LastError,
				"the process of the last attempt died, for example out of memory"))
		case job.BodyError != "":
			return errors.New(job.BodyError)
		}
		return handler.Run(ctx, job, func(done, total int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			progress.Done, progress.Total = done, total
		})
	}
}

// Busy reports whether a job is running in this replica.
func (r *Runner) Busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running) > 0
}

// renew extends the leases of running jobs and records their progress, until the context ends.
func (r *Runner) renew(ctx context.Context) {
	for {
		core.SleepUntil(ctx, r.clock, r.clock.Now().Add(r.config.Lease/3))
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
		if err := r.queue.Renew(attempt, r.Owner(), running, r.clock.Now().Add(r.config.Lease)); err != nil {
			r.log.Warn("renewing job leases failed", "error", err)
		}
		cancel()
	}
}
