package relay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/step"
)

// fakeDependencies is a queue, plugins, platforms and an aggregator in memory.
type fakeDependencies struct {
	mu       sync.Mutex
	due      []Call
	results  []Result
	released []Call
	busy     []int64 // endpoints at the last claim
	failing  int     // calls of Finish that still fail
	hanging  chan struct{}
	sending  int // requests so far to an aggregator that hangs
	sent     []string
	asked    int  // calls planned of platform down
	absent   bool // the plugin does not serve
	body     int  // bytes of requests; 0: 64 KiB
	log      slog.Handler
}

func (b *fakeDependencies) Serves(string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.absent
}

func (b *fakeDependencies) Claim(_ context.Context, _ core.ID, capacity queue.Capacity,
	until time.Time) (batch queue.Batch[Call], _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var left []Call
	taken := map[int64]int{}
	for _, c := range b.due {
		if slices.Contains(capacity.Busy, c.Endpoint) || slices.Contains(capacity.BusyGroups, c.Plugin) ||
			len(batch.Items) == capacity.Items || taken[c.Endpoint] == capacity.OtherKeys {
			left = append(left, c)
			continue
		}
		taken[c.Endpoint]++
		c.LeasedUntil = until
		batch.Items = append(batch.Items, c)
	}
	b.due, b.busy = left, capacity.Busy
	batch.More = len(batch.Items) == capacity.Items
	return batch, nil
}

func (b *fakeDependencies) Finish(_ context.Context, _ core.ID, results []Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failing > 0 {
		b.failing--
		return errors.New("the database is unavailable")
	}
	b.results = append(b.results, results...)
	return nil
}

func (b *fakeDependencies) Release(_ context.Context, _ core.ID, calls []Call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released = append(b.released, calls...)
	return nil
}

func (b *fakeDependencies) Plan(_ context.Context, c Call, _ []byte) (Decision, error) {
	switch c.Platform {
	case "panics":
		panic("a fault")
	case "fails":
		return Decision{}, core.Errorf(core.Internal, "a fault")
	case "down":
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked++
		if !b.absent && b.asked > 1 {
			break
		}
		return Decision{}, core.Errorf(core.Unavailable, "a fault")
	case "cut":
		return Decision{}, errors.New("a fault")
	}
	return Decision{Plan: &Plan{Endpoint: "api", Hosts: []string{c.Platform}, Method: "POST", Path: "/",
		Body: make([]byte, cmp.Or(b.body, 64<<10))}}, nil
}

// remotePlugin is a plugin that another replica runs.
type remotePlugin struct {
	*fakeDependencies
	asked atomic.Int64
}

func (a *remotePlugin) Plan(context.Context, Call, []byte) (Decision, error) {
	a.asked.Add(1)
	return Decision{}, core.Snooze{Until: time.Now().Add(time.Hour)}
}

func (b *fakeDependencies) Interpret(_ context.Context, c Call, _ []byte, _ Response) (Outcome, error) {
	if c.Platform == "misread" {
		panic("a fault")
	}
	if c.Platform == "unread" {
		return Outcome{}, &core.Error{Code: core.Internal, Message: "the plugin crashed",
			Cause: errors.New("at main.go:1")}
	}
	return Outcome{}, core.Errorf(core.NotFound, "this plugin reads no responses")
}

func (b *fakeDependencies) Access(_ context.Context, _ core.BusinessID, platform string) (Access, error) {
	return Access{BaseURLs: map[string]string{"api": "https://" + platform}}, nil
}

func (b *fakeDependencies) Called(Result) {}

func (b *fakeDependencies) Send(ctx context.Context, r Request) Attempt {
	if r.URL == "https://breaks/" {
		panic("a fault")
	}
	if r.URL == "https://hangs/" {
		b.mu.Lock()
		b.sending++
		b.mu.Unlock()
		select {
		case <-b.hanging:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, r.URL)
	if r.URL == "https://limits/" {
		return Attempt{Status: 429, ResponseHeaders: map[string]string{"Retry-After": "300"}}
	}
	return Attempt{Status: 200, RequestBody: r.Body, ResponseBody: make([]byte, 64<<10)}
}

func (b *fakeDependencies) calls(platform string, endpoint int64, n int) {
	for range n {
		b.due = append(b.due, Call{ID: core.NewID(time.Now()), Platform: platform, Plugin: "p", Endpoint: endpoint,
			Since: time.Now()})
	}
}

func (b *fakeDependencies) finished(platform string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.results {
		if r.Call.Platform == platform {
			n++
		}
	}
	return n
}

func (b *fakeDependencies) run(t *testing.T, config Config) (e *Engine, stop func()) {
	t.Helper()
	return runEngine(t, config, b, cmp.Or(b.log, slog.DiscardHandler))
}

// runEngine runs an engine until stop is called. Leases outlast the test: Release of fakeDependencies does not queue a
// call again.
func runEngine(t *testing.T, config Config, parts interface {
	Queue
	Plugins
	Platforms
	Sender
	Observer
}, log slog.Handler) (e *Engine, stop func()) {
	t.Helper()
	config.Lease = cmp.Or(config.Lease, time.Hour)
	e = NewEngine(config, Dependencies{Queue: parts, Plugins: parts, Platforms: parts, Sender: parts, Observer: parts,
		Clock: core.NewSystemClock(nil), Log: slog.New(log)})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	return e, func() {
		cancel()
		<-ended
	}
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}

func TestHangingPlatformDelaysOnlyItsOwnCalls(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &fakeDependencies{hanging: make(chan struct{})}
	b.calls("hangs", 1, 100)
	b.calls("swift", 2, 300)
	_, stop := b.run(t, Config{EndpointLimit: 4, Poll: time.Millisecond})
	await(t, func() bool { return b.finished("swift") == 300 })
	require.Zero(t, b.finished("hangs"))
	b.mu.Lock()
	require.GreaterOrEqual(t, len(b.due), 80, "few calls of the hanging platform are held")
	b.mu.Unlock()
	close(b.hanging)
	await(t, func() bool { return b.finished("hangs") == 100 })
	stop()
}

func TestHangingAggregatorLeavesCapacityForOthers(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &fakeDependencies{hanging: make(chan struct{})}
	for endpoint := range int64(100) { // queued first, for 100 businesses
		b.calls("hangs", 100+endpoint, 10)
	}
	b.calls("swift", 2, 300)
	for i := range b.due {
		b.due[i].Plugin = b.due[i].Platform
	}
	_, stop := b.run(t, Config{Capacity: 128, Poll: time.Millisecond})
	await(t, func() bool { return b.finished("swift") == 300 })
	close(b.hanging)
	await(t, func() bool { return b.finished("hangs") == 1000 })
	stop()
}

func TestLargePlansAreBoundedTogether(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &fakeDependencies{hanging: make(chan struct{}), body: 2 << 20}
	for endpoint := range int64(40) {
		b.calls("hangs", endpoint+1, 1)
	}
	_, stop := b.run(t, Config{})
	await(t, func() bool { return b.finished("hangs") == 8 })
	for _, r := range b.results {
		require.Equal(t, []any{Waiting, true, "the hub sends many large requests at the moment"},
			[]any{r.State, r.Uncounted, r.Message})
	}
	close(b.hanging)
	await(t, func() bool { return b.finished("hangs") == 40 })
	stop()
	require.Len(t, b.sent, 32)
	large := &Plan{Steps: []Step{{Body: step.Body{Raw: make([]byte, 3)}},
		{Body: step.Body{Parts: []step.Part{{Text: "four"}, {Content: make([]byte, 5)}}}}}}
	require.EqualValues(t, 12, large.size())
	large.Body = make([]byte, maxPlan)
	require.EqualValues(t, maxPlan, large.size())
}

func TestStopFinishesInFlightCallsAndReleasesOthers(t *testing.T) {
	defer goleak.VerifyNone(t)
	b := &fakeDependencies{hanging: make(chan struct{})}
	b.calls("hangs", 1, 8)
	_, stop := b.run(t, Config{EndpointLimit: 3, StopWithin: time.Minute})
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.sending == 3 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.released)+len(b.due) == 5 })
	close(b.hanging)
	<-stopped
	require.Equal(t, 3, b.finished("hangs"))
}

func TestResultIsKeptDuringADatabaseOutage(t *testing.T) {
	b := &fakeDependencies{failing: 3}
	b.calls("swift", 2, 5)
	_, stop := b.run(t, Config{})
	await(t, func() bool { return b.finished("swift") == 5 })
	stop()
	require.Equal(t, Done, b.results[0].State, "the plan decides on a response that the plugin does not read")
	for _, r := range b.results {
		require.Equal(t, []int{MaxRecordedBody, MaxRecordedBody}, []int{cap(r.Attempt.RequestBody),
			cap(r.Attempt.ResponseBody)}, "it holds no more than is recorded")
	}
}

func TestStopAbandonsRecordingDuringADatabaseOutage(t *testing.T) {
	b := &fakeDependencies{failing: math.MaxInt}
	b.calls("swift", 2, 1)
	_, stop := b.run(t, Config{StopWithin: time.Millisecond})
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.failing < math.MaxInt })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Fatal("the stop waits for the database")
	}
	require.Empty(t, b.results)
}

func TestUnavailablePluginUsesNoAttempt(t *testing.T) {
	for platform, attempted := range map[string]bool{"panics": true, "fails": true, "down": false, "cut": false} {
		b := &fakeDependencies{}
		b.calls(platform, 3, 1)
		_, stop := b.run(t, Config{})
		await(t, func() bool { return b.finished(platform) == 1 })
		stop()
		r := b.results[0]
		require.Equal(t, []any{Waiting, !attempted, attempted}, []any{r.State, r.Uncounted, r.Attempt != nil}, platform)
		public := map[string]string{"panics": "the hub failed", "fails": "a fault", "down": "a fault",
			"cut": "the hub failed"}
		require.Equal(t, "planning the call failed: "+public[platform], r.Message)
		if attempted {
			require.Equal(t, r.Message, r.Attempt.Error, "integrators read the record too")
		}
	}
}

func TestPanicsAfterPlanningAreRecordedAsAttempts(t *testing.T) {
	for platform, want := range map[string][]any{
		"misread": {200, "refused", "the response could not be read: the hub failed"},
		"breaks":  {0, "hub_failed", "making the call failed: the hub failed"},
	} {
		var log bytes.Buffer
		b := &fakeDependencies{log: slog.NewTextHandler(&log, nil)}
		b.calls(platform, 3, 1)
		_, stop := b.run(t, Config{})
		await(t, func() bool { return b.finished(platform) == 1 })
		stop()
		r := b.results[0]
		require.Equal(t, Waiting, r.State)
		require.Equal(t, want, []any{r.Attempt.Status, r.Attempt.ErrorClass, r.Message})
		require.Contains(t, log.String(), "level=ERROR")
		require.Contains(t, log.String(), "engine_test.go", "the stack")
	}
}

func TestAbsentPluginIsAskedOnce(t *testing.T) {
	b := &fakeDependencies{absent: true}
	b.calls("down", 3, 1)
	e, stop := b.run(t, Config{})
	requeue := func(calls int) { // as the database does at the time of the retry
		await(t, func() bool { return b.finished("down") == calls })
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.results {
			require.Equal(t, []any{Waiting, true, "planning the call failed: a fault"},
				[]any{r.State, r.Uncounted, r.Message}, "the reason is on record")
			b.due = append(b.due, r.Call)
		}
		b.results = nil
		e.Wake()
	}
	requeue(1)
	b.mu.Lock()
	b.calls("down", 3, 5)
	b.mu.Unlock()
	e.Wake()
	for range 20 {
		requeue(6)
	}
	await(t, func() bool { return b.finished("down") == 6 })
	b.mu.Lock()
	require.Equal(t, 1, b.asked)
	b.absent = false
	b.mu.Unlock()
	requeue(6)
	await(t, func() bool { return b.finished("down") == 6 })
	stop()
	for _, r := range b.results {
		require.Equal(t, Done, r.State)
	}
	require.Equal(t, 7, b.asked)
}

func TestAbsentPluginIsAskedFromTimeToTime(t *testing.T) {
	b, now := &fakeDependencies{absent: true}, time.Now()
	var a absentPlugins
	a.mark("p", b, now, "down")
	require.Equal(t, "down", a.reason("p", b, now.Add(absentInterval-1)))
	require.Empty(t, a.reason("p", b, now.Add(absentInterval)))
	require.Empty(t, a.reason("other", b, now))
	b.absent = false
	require.Empty(t, a.reason("p", b, now))

	for age, pause := range map[time.Duration]time.Duration{0: unavailablePause, 20 * time.Second: 5 * time.Second,
		time.Hour: maxAbsentPause} {
		require.Equal(t, now.Add(pause), delayAbsent(Call{Since: now.Add(-age)}, "down", now).RetryAt)
	}
	require.Equal(t, Failed, delayAbsent(Call{Since: now.Add(-unavailableLimit)}, "down", now).State)
}

func TestUnreadableResponseIsNotSuccess(t *testing.T) {
	b := &fakeDependencies{}
	b.calls("unread", 3, 1)
	_, stop := b.run(t, Config{})
	await(t, func() bool { return b.finished("unread") == 1 })
	stop()
	require.Equal(t, []any{Waiting, false, "the response could not be read: the plugin crashed"},
		[]any{b.results[0].State, b.results[0].Uncounted, b.results[0].Message})
}

func TestThrottlingAggregatorReceivesNoMoreOfThatKind(t *testing.T) {
	b := &fakeDependencies{}
	b.calls("limits", 3, 20)
	for i := range b.due {
		b.due[i].Kind = RiderLocation
	}
	b.calls("limits", 3, 1)
	b.due[20].Kind = OrderAcknowledge
	_, stop := b.run(t, Config{})
	await(t, func() bool { return b.finished("limits") == 21 })
	stop()
	sent := map[Kind]int{}
	for _, r := range b.results {
		require.Equal(t, Waiting, r.State)
		require.InDelta(t, 300, time.Until(r.RetryAt).Seconds(), 60)
		require.Equal(t, r.Attempt == nil, r.Uncounted, "waiting for the throttle uses no attempt")
		if r.Attempt != nil {
			sent[r.Call.Kind]++
		}
	}
	require.LessOrEqual(t, sent[RiderLocation], firstLimit, "only those already in flight")
	require.Equal(t, 1, sent[OrderAcknowledge], "other kinds may have other limits")
}

func TestCallOfAnotherReplicasPluginIsReleased(t *testing.T) {
	b := &fakeDependencies{}
	b.calls("swift", 2, 3)
	plugins := &remotePlugin{fakeDependencies: b}
	e, stop := runEngine(t, Config{}, plugins, slog.DiscardHandler)
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.released) == 3 })
	e.Wake()
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return slices.Equal(b.busy, []int64{2}) })
	stop()
	require.EqualValues(t, 3, plugins.asked.Load())
	require.Empty(t, b.results, "nothing is recorded: it is as if nobody had taken the calls")
}

func TestCallWithExpiringLeaseIsReleased(t *testing.T) {
	b := &fakeDependencies{}
	b.calls("swift", 2, 1)
	_, stop := b.run(t, Config{Lease: startMargin - time.Second})
	await(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.released) == 1 })
	stop()
	require.Empty(t, b.sent)
}

func TestThrottleEndsWhenTheClockIsSetBack(t *testing.T) {
	clock := clocktest.New()
	e := NewEngine(Config{}, Dependencies{Clock: clock})
	call := Call{Endpoint: 3, Kind: RiderLocation}
	until := clock.Now().Add(time.Minute)
	e.throttle(Result{Call: call, RetryAfter: until})
	clock.Advance(-time.Second)
	require.Equal(t, until, e.throttledUntil(call), "a small correction")
	clock.Advance(-time.Hour)
	require.Zero(t, e.throttledUntil(call))
	until = clock.Now().Add(time.Second)
	e.throttle(Result{Call: call, RetryAfter: until})
	require.Equal(t, until, e.throttledUntil(call))
}
