package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// fakeQueue is a queue of one job in memory.
type fakeQueue struct {
	mu           sync.Mutex
	job          *core.Job // nil while it is leased
	retries      []string  // causes
	renewed      []Progress
	renewal      chan struct{}
	markedFailed chan string // causes
}

func (b *fakeQueue) Claim(_ context.Context, owner core.ID, _ int, _ time.Time) ([]core.Job, time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.job == nil {
		return nil, time.Time{}, nil
	}
	claimed := *b.job
	claimed.Owner = owner
	claimed.Attempts++
	b.job = nil
	return []core.Job{claimed}, time.Time{}, nil
}

func (b *fakeQueue) Load(_ context.Context, job core.Job) (core.Job, error) {
	job.Body, job.Size = make([]byte, job.Size), 0
	return job, nil
}

func (b *fakeQueue) Renew(_ context.Context, _ core.ID, running []Progress, _ time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.renewed = append(b.renewed, running...)
	select {
	case b.renewal <- struct{}{}:
	default:
	}
	return nil
}

func (b *fakeQueue) Retry(_ context.Context, job core.Job, _ time.Time, cause string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retries = append(b.retries, cause)
	job.LastError = cause
	if cause == "" {
		job.Attempts--
	}
	b.job = &job
	return nil
}

func (b *fakeQueue) MarkFailed(_ context.Context, _ core.Job, cause string) error {
	b.markedFailed <- cause
	return nil
}

// funcHandler is a Handler made of functions.
type funcHandler struct {
	run  func(ctx context.Context, job core.Job, report func(int, int)) error
	fail func(job core.Job, cause error) error
}

func (h funcHandler) Run(ctx context.Context, job core.Job, report func(int, int)) error {
	return h.run(ctx, job, report)
}

func (h funcHandler) Fail(_ context.Context, job core.Job, cause error) error {
	return h.fail(job, cause)
}

type noObserver struct{}

func (noObserver) JobEnded(core.JobKind, string, time.Duration) {}

func start(b *fakeQueue, config Config, h Handler) (stop func()) {
	r := NewRunner(config, Dependencies{Queue: b, Handlers: map[core.JobKind]Handler{core.StoreJob: h},
		Clock: core.NewSystemClock(nil), Observer: noObserver{}, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func newFakeQueue() *fakeQueue {
	return &fakeQueue{job: &core.Job{ID: core.NewID(time.Now()), Kind: core.StoreJob}, renewal: make(chan struct{}, 1),
		markedFailed: make(chan string, 1)}
}

func TestJobInterruptedByStopIsReleasedUncounted(t *testing.T) {
	b, began := newFakeQueue(), make(chan struct{})
	stop := start(b, Config{StopWithin: 20 * time.Millisecond},
		funcHandler{run: func(ctx context.Context, _ core.Job, _ func(int, int)) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}})
	<-began
	stop()
	require.Equal(t, []string{""}, b.retries)
	require.Zero(t, b.job.Attempts)
}

func TestStopLetsARunningJobFinish(t *testing.T) {
	b, began, release := newFakeQueue(), make(chan struct{}), make(chan struct{})
	ended := false
	stop := start(b, Config{StopWithin: time.Minute},
		funcHandler{run: func(context.Context, core.Job, func(int, int)) error {
			close(began)
			<-release
			ended = true
			return nil
		}})
	<-began
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	stop()
	require.True(t, ended)
	require.Empty(t, b.retries)
}

func TestLeaseRenewalReportsProgress(t *testing.T) {
	b, release := newFakeQueue(), make(chan struct{})
	stop := start(b, Config{Lease: 30 * time.Millisecond},
		funcHandler{run: func(_ context.Context, _ core.Job, report func(int, int)) error {
			report(3, 7)
			<-release
			return nil
		}})
	var last Progress
	for n := 0; n < 1000 && last.Done == 0; n++ { // the first renewals may come before the report
		<-b.renewal
		b.mu.Lock()
		last = b.renewed[len(b.renewed)-1]
		b.mu.Unlock()
	}
	close(release)
	stop()
	require.Equal(t, []int{3, 7}, []int{last.Done, last.Total})
}

func TestTimedOutAttemptCounts(t *testing.T) {
	b, failed := newFakeQueue(), make(chan error, 1)
	stop := start(b, Config{Limit: 20 * time.Millisecond, MaxAttempts: 1}, funcHandler{
		run: func(ctx context.Context, _ core.Job, _ func(int, int)) error {
			<-ctx.Done()
			return ctx.Err()
		},
		fail: func(_ core.Job, cause error) error {
			failed <- cause
			return nil
		},
	})
	require.ErrorIs(t, <-failed, context.DeadlineExceeded)
	stop()
}

func TestLostLeaseIsNotAFailure(t *testing.T) {
	b, ran := newFakeQueue(), make(chan struct{})
	stop := start(b, Config{MaxAttempts: 1}, funcHandler{
		run: func(context.Context, core.Job, func(int, int)) error {
			close(ran)
			return core.Errorf(core.Conflict, "lease held by another replica")
		},
		fail: func(core.Job, error) error { return errors.New("must not be called") },
	})
	<-ran
	stop()
	require.Empty(t, b.retries)
}

func TestSnoozedJobIsReleasedUncountedAndResumes(t *testing.T) {
	b, ran := newFakeQueue(), make(chan struct{})
	runs := 0
	stop := start(b, Config{MaxAttempts: 1, Poll: time.Millisecond}, funcHandler{
		run: func(context.Context, core.Job, func(int, int)) error {
			if runs++; runs < 3 {
				return fmt.Errorf("not yet: %w", core.Snooze{Until: time.Now()})
			}
			close(ran)
			return nil
		},
		fail: func(core.Job, error) error { return errors.New("must not be called") },
	})
	<-ran
	stop()
	require.Equal(t, []string{"", ""}, b.retries)
}

// rejectRun returns a handler whose Run must not be called. Its Fail panics while the channel is nil.
func rejectRun(t *testing.T, failed chan error) funcHandler {
	return funcHandler{
		run: func(context.Context, core.Job, func(int, int)) error {
			t.Error("must not be run")
			return nil
		},
		fail: func(_ core.Job, cause error) error {
			if failed == nil {
				panic("this is what ends the process")
			}
			failed <- cause
			return nil
		},
	}
}

func TestJobThatKeepsCrashingFails(t *testing.T) {
	b, failed := newFakeQueue(), make(chan error, 1)
	b.job.Attempts = 3
	stop := start(b, Config{MaxAttempts: 3}, rejectRun(t, failed))
	require.ErrorContains(t, <-failed, "the last attempt died")
	stop()
}

func TestJobWithUnrecordableFailureIsMarkedFailed(t *testing.T) {
	b := newFakeQueue()
	b.job.Attempts = 3
	stop := start(b, Config{MaxAttempts: 3}, rejectRun(t, nil))
	require.Contains(t, <-b.markedFailed, "the last attempt died")
	stop() // the runner recovers the panics
	require.Len(t, b.retries, failAttempts-1)
}

func TestUnreadableJobFailsWithTheReason(t *testing.T) {
	b, failed := newFakeQueue(), make(chan error, 1)
	b.job.BodyError = "a stored body cannot be unpacked"
	stop := start(b, Config{MaxAttempts: 1}, rejectRun(t, failed))
	require.EqualError(t, <-failed, "a stored body cannot be unpacked")
	stop()
}

func TestFinalErrorFailsTheFirstAttempt(t *testing.T) {
	b, failed := newFakeQueue(), make(chan error, 1)
	stop := start(b, Config{}, funcHandler{
		run: func(context.Context, core.Job, func(int, int)) error {
			return fmt.Errorf("running: %w", core.FinalError{Cause: errors.New("unreadable")})
		},
		fail: func(_ core.Job, cause error) error { failed <- cause; return nil },
	})
	require.EqualError(t, <-failed, "running: unreadable")
	stop()
	require.Empty(t, b.retries)
}

func TestUnreportableFinalErrorMarksTheJobFailed(t *testing.T) {
	b, unreadable := newFakeQueue(), core.FinalError{Cause: errors.New("unreadable")}
	stop := start(b, Config{}, funcHandler{
		run:  func(context.Context, core.Job, func(int, int)) error { return unreadable },
		fail: func(core.Job, error) error { return unreadable },
	})
	require.Equal(t, "unreadable", <-b.markedFailed)
	stop()
	require.Empty(t, b.retries)
}

func TestRetriedFailureKeepsItsOriginalCause(t *testing.T) {
	b, reported := newFakeQueue(), make(chan error, 2)
	away := errors.New("the database is unavailable")
	h := funcHandler{
		run:  func(context.Context, core.Job, func(int, int)) error { return errors.New("the real cause") },
		fail: func(_ core.Job, cause error) error { reported <- cause; defer func() { away = nil }(); return away },
	}
	b.job.Attempts = 2
	stop := start(b, Config{MaxAttempts: 3}, h)
	require.EqualError(t, <-reported, "the real cause")
	require.EqualError(t, <-reported, "the real cause")
	stop()
	require.Equal(t, []string{"the real cause"}, b.retries)
}
