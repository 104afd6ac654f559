package relay

import (
	"bytes"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/step"
)

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
		"unreadable": {200, "refused", "the response could not be read: the hub failed"},
		"breaks":     {0, "hub_failed", "making the call failed: the hub failed"},
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
		require.Contains(t, log.String(), "fake_test.go", "the stack")
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
