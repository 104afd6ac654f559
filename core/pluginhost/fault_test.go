package pluginhost

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestCallFaultsDoNotHideProcessCrashes(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	for range maxFaults {
		for range maxRecordedFaults {
			_, err := s.check(t.Context(), "panic", "")
			require.Error(t, err)
		}
		again := s.replaced(s.signal(syscall.SIGKILL))
		s.advanceUntil("it is started again, or in quarantine",
			func() bool { return again() || s.inState(Quarantined)() })
	}
	require.Equal(t, Quarantined, s.status().State)
}

func TestPluginMissingEveryDeadlineIsRestarted(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	first, calls := s.status().PID, 0
	late := func() {
		calls++
		s.timeOut(t, strconv.Itoa(calls))
	}
	for range maxTimeouts - 1 {
		late()
	}
	_, err := s.check(t.Context(), "version", "")
	require.NoError(t, err, "an answer in time: it does not hang")
	for range maxTimeouts - 1 {
		late()
	}
	for range maxTimeouts {
		err := s.pastDeadline(func(ctx context.Context) error {
			_, err := s.check(ctx, "wait", "/nowhere")
			return err
		})
		require.Equal(t, core.Internal, core.CodeOf(err))
	}
	s.waitUntil("its health is fine", s.inState(Ready))
	require.Equal(t, first, s.status().PID, "that many items take it long is no sign that it hangs")
	late()
	s.advanceUntil("it is started again", s.replaced(first))
	require.Contains(t, s.lastFault(), "it timed out in 5 consecutive calls")
	require.True(t, s.status().Faults[0].Ended)
}

// timeOut makes a call that the plugin does not finish in time.
func (s *testHost) timeOut(t *testing.T, key string) {
	t.Helper()
	err := s.pastDeadline(func(ctx context.Context) error {
		_, err := s.Plugin("hostile").Translate(ctx, Subject{Business: 1, Key: key}, &sdk.InboundRequest{Kind: "wait"})
		return err
	})
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "no response in time")
}

func TestOneSlowCallDoesNotQuarantineThePlugin(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	for range maxFaults {
		first := s.status().PID
		for range maxTimeouts {
			s.timeOut(t, "1")
		}
		s.advanceUntil("it is started again", s.replaced(first))
		require.Contains(t, s.lastFault(), "all retries of one")
	}
	_, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	for range maxFaults {
		first := s.status().PID
		for n := range maxTimeouts {
			s.timeOut(t, strconv.Itoa(n))
		}
		again := s.replaced(first)
		s.advanceUntil("it is started again, or in quarantine",
			func() bool { return again() || s.inState(Quarantined)() })
	}
	require.Equal(t, Quarantined, s.status().State, "that many calls are late is another matter")
}

func TestUnreachedDecisionIsAPluginError(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	plan := func(ctx context.Context, order string) error {
		_, err := PlanRiderStatus.Do(ctx, s.Plugin("hostile"), Subject{Business: 1},
			&pb.RiderStatusRequest{Order: &pb.Order{PlatformOrderId: order}})
		return err
	}
	err := s.pastDeadline(func(ctx context.Context) error { return plan(ctx, "wait") })
	require.Equal(t, core.Internal, core.CodeOf(err), "it is not the plugin that is down")
	require.ErrorContains(t, err, "no response in time")

	failed, got := make(chan asyncResult, 1), asyncResult{}
	go func() { failed <- asyncResult{err: plan(t.Context(), "crash")} }()
	ended := received(failed, &got)
	s.waitUntil("the call has failed", func() bool {
		if s.inState(Backoff)() { // the deadline of the call must not pass while processes end and start
			s.clock.Advance(50 * time.Millisecond)
		}
		return ended()
	})
	require.Equal(t, core.Invalid, core.CodeOf(got.err), "a retry is useless: the request is set aside")
	require.True(t, IsSetAside(got.err))
}

func TestItemCheckDeadlineIncludesTheQueueTime(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	var calls []<-chan asyncResult
	for range 5 { // the plugin's limit is four
		calls = append(calls, s.checkAsyncWithin(30*time.Second, "wait", "/nowhere"))
	}
	s.waitUntil("all places are taken", func() bool { return s.status().InFlight == 4 })
	failed := map[core.Code]int{}
	for _, call := range calls {
		var got asyncResult
		s.advanceUntil("the call has failed", received(call, &got))
		failed[core.CodeOf(got.err)]++
	}
	require.Equal(t, 5, failed[core.Internal]+failed[core.Unavailable], "timed out, or waited too long")
}

func TestSlowMenuRenderingIsAPluginError(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	failed, got := make(chan asyncResult, 1), asyncResult{}
	go func() {
		_, err := s.Plugin("hostile").Render(t.Context(), Subject{Business: 1}, &sdk.Menu{})
		failed <- asyncResult{err: err}
	}()
	s.advanceUntil("the call has failed", received(failed, &got))
	require.Equal(t, core.Internal, core.CodeOf(got.err),
		"it is not the plugin that is down: others are rendered meanwhile")
	require.ErrorContains(t, got.err, "Menu.Render: no response in time")
}

func TestPluginErrorStatusIsNotALostConnection(t *testing.T) {
	s := newTestHost(t)
	s.ready("unavailable")
	_, err := s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1}, &sdk.InboundRequest{})
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.ErrorContains(t, err, "failed: the table is broken")
	require.Contains(t, s.lastFault(), "the table is broken")
}

func TestDegradedPluginShowsItsReason(t *testing.T) {
	s := newTestHost(t)
	s.ready("degraded")
	require.Empty(t, s.status().Health)
	s.advanceUntil("it is degraded", func() bool { // a late health check has another reason
		return s.status().Health == "it reports that it is degraded: the cache is cold"
	})
	require.Equal(t, Degraded, s.status().State)
	s.install("good")
	require.NoError(t, s.Upgrade(t.Context(), "hostile"))
	require.Equal(t, Ready, s.status().State)
	require.Empty(t, s.status().Health)
}

func TestCrashedPluginReportsItsLastBuild(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	build := s.status().Build
	require.Equal(t, s.status().Manifest, build)
	s.signal(syscall.SIGKILL)
	s.waitUntil("it waits for its restart", s.inState(Backoff))
	require.Empty(t, s.status().Manifest)
	require.Equal(t, build, s.status().Build)
	s.Stop("hostile")
	s.waitUntil("it is stopped", s.inState(Stopped))
	require.Empty(t, s.status().Build)
}

func TestFaultNamesTheCauseOfTheLatestProcess(t *testing.T) {
	s := newTestHost(t)
	s.install("panics")
	s.Start("hostile")
	s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
	s.install("dies")
	s.advanceUntil("another fault", func() bool { return strings.Contains(s.lastFault(), "exit status 7") })
	require.Contains(t, s.lastFault(), "there is no disk")
}

func TestPluginTextsAreBounded(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	long := strings.Repeat("é", 1<<20)
	message, err := s.check(t.Context(), "find", long)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(message, "é…"), "whole letters")
	require.Less(t, len(message), maxText+4)
	_, err = s.check(t.Context(), "refuse", long)
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.Less(t, len(err.Error()), maxText+100)
}

func TestLogBufferIsBounded(t *testing.T) {
	s := newTestHost(t)
	buffer := &logBuffer{log: s.config.Log, clock: s.clock}
	line := []byte(strings.Repeat("x", maxLoggedLine))
	for range maxBufferedLines {
		_, _ = buffer.Write(line)
	}
	_, _ = buffer.Write([]byte("last"))
	lines := buffer.lines()
	require.LessOrEqual(t, len(strings.Join(lines, "")), maxBufferedBytes)
	require.Equal(t, "last", lines[len(lines)-1])
	require.Equal(t, []string{"last"}, buffer.after(maxBufferedLines))
	require.Empty(t, buffer.after(buffer.written()))
}

func TestSharedMemoryCountsTowardsTheLimit(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	first := s.status().PID
	_, err := s.check(t.Context(), "share", "")
	require.NoError(t, err)
	s.advanceUntil("it is killed", s.replaced(first))
	require.Contains(t, s.lastFault(), "of memory, and its manifest allows 128")
}

func TestPluginFileSizeIsLimited(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	call := s.checkAsync("write", "")
	var got asyncResult
	s.advanceUntil("the call has failed", received(call, &got))
	require.Error(t, got.err)
}

func TestFaultTextsCanOmitTheLog(t *testing.T) {
	for text, want := range map[string]string{
		"exit status 3" + lastLogLine + "order (12)":                   "exit status 3",
		"its process exited (signal: killed" + fatalLogLine + "panic)": "its process exited (signal: killed)",
		"failed: :)))" + fatalLogLine + "panic":                        "failed: :)))",
		"no response in time":                                          "no response in time",
	} {
		require.Equal(t, want, WithoutLog(text))
	}
}
