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
	s := newStage(t)
	s.ready("good")
	for range maxFaults {
		for range maxRecordedFaults {
			_, err := s.check(t.Context(), "panic", "")
			require.Error(t, err)
		}
		again := s.another(s.signal(syscall.SIGKILL))
		s.until("it is started again, or in quarantine", func() bool { return again() || s.is(Quarantined)() })
	}
	require.Equal(t, Quarantined, s.state().State)
}

func TestPluginMissingEveryDeadlineIsRestarted(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	first, calls := s.state().PID, 0
	late := func() {
		calls++
		s.late(t, strconv.Itoa(calls))
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
		err := s.expired(func(ctx context.Context) error {
			_, err := s.check(ctx, "wait", "/nowhere")
			return err
		})
		require.Equal(t, core.Internal, core.CodeOf(err))
	}
	s.still("its health is fine", s.is(Ready))
	require.Equal(t, first, s.state().PID, "that many items take it long is no sign that it hangs")
	late()
	s.until("it is started again", s.another(first))
	require.Contains(t, s.fault(), "it timed out in 5 consecutive calls")
	require.True(t, s.state().Faults[0].Ended)
}

// late asks a question that is not answered in time.
func (s *stage) late(t *testing.T, key string) {
	t.Helper()
	err := s.expired(func(ctx context.Context) error {
		_, err := s.Plugin("hostile").Translate(ctx, Subject{Business: 1, Key: key}, &sdk.InboundRequest{Kind: "wait"})
		return err
	})
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "no response in time")
}

func TestOneSlowCallDoesNotQuarantineThePlugin(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	for range maxFaults {
		first := s.state().PID
		for range maxTimeouts {
			s.late(t, "1")
		}
		s.until("it is started again", s.another(first))
		require.Contains(t, s.fault(), "all retries of one")
	}
	_, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	for range maxFaults {
		first := s.state().PID
		for n := range maxTimeouts {
			s.late(t, strconv.Itoa(n))
		}
		again := s.another(first)
		s.until("it is started again, or in quarantine", func() bool { return again() || s.is(Quarantined)() })
	}
	require.Equal(t, Quarantined, s.state().State, "that many calls are late is another matter")
}

func TestUnreachedDecisionIsAPluginError(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	plan := func(ctx context.Context, order string) error {
		_, err := s.Plugin("hostile").PlanRiderStatus(ctx, Subject{Business: 1},
			&pb.RiderStatusRequest{Order: &pb.Order{PlatformOrderId: order}})
		return err
	}
	err := s.expired(func(ctx context.Context) error { return plan(ctx, "wait") })
	require.Equal(t, core.Internal, core.CodeOf(err), "it is not the plugin that is down")
	require.ErrorContains(t, err, "no response in time")

	failed, got := make(chan answered, 1), answered{}
	go func() { failed <- answered{err: plan(t.Context(), "crash")} }()
	ended := arrived(failed, &got)
	s.still("the call has failed", func() bool {
		if s.is(Backoff)() { // the deadline of the call is not to pass while processes end and start
			s.clock.Advance(10 * time.Millisecond)
		}
		return ended()
	})
	require.Equal(t, core.Internal, core.CodeOf(got.err), "it is not the plugin that is down")
	require.ErrorContains(t, got.err, "exited twice during a call")
}

func TestItemCheckDeadlineIncludesTheQueueTime(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	var calls []<-chan answered
	for range 5 { // the plugin takes four
		calls = append(calls, s.asked("wait", "/nowhere"))
	}
	s.still("all places are taken", func() bool { return s.state().InFlight == 4 })
	failed := map[core.Code]int{}
	for _, call := range calls {
		var got answered
		s.until("the call has failed", arrived(call, &got))
		failed[core.CodeOf(got.err)]++
	}
	require.Equal(t, 5, failed[core.Internal]+failed[core.Unavailable], "late, or never asked")
}

func TestSlowMenuRenderingIsAPluginError(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	failed, got := make(chan answered, 1), answered{}
	go func() {
		_, err := s.Plugin("hostile").Render(t.Context(), Subject{Business: 1}, &sdk.Menu{})
		failed <- answered{err: err}
	}()
	s.until("the call has failed", arrived(failed, &got))
	require.Equal(t, core.Internal, core.CodeOf(got.err),
		"it is not the plugin that is down: others are rendered meanwhile")
	require.ErrorContains(t, got.err, "Menu.Render: no response in time")
}

func TestPluginErrorStatusIsNotALostConnection(t *testing.T) {
	s := newStage(t)
	s.ready("unavailable")
	_, err := s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1}, &sdk.InboundRequest{})
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.ErrorContains(t, err, "failed: the table is broken")
	require.Contains(t, s.fault(), "the table is broken")
}

func TestDegradedPluginShowsItsReason(t *testing.T) {
	s := newStage(t)
	s.ready("degraded")
	require.Empty(t, s.state().Health)
	s.until("it is degraded", s.is(Degraded))
	require.Equal(t, "it reports that it is degraded: the cache is cold", s.state().Health)
	s.install("good")
	require.NoError(t, s.Upgrade(t.Context(), "hostile"))
	require.Equal(t, Ready, s.state().State)
	require.Empty(t, s.state().Health)
}

func TestFaultNamesTheCauseOfTheLatestProcess(t *testing.T) {
	s := newStage(t)
	s.install("panics")
	s.Start("hostile")
	s.still("a fault", func() bool { return s.fault() != "" })
	s.install("dies")
	s.until("another fault", func() bool { return strings.Contains(s.fault(), "exit status 7") })
	require.Contains(t, s.fault(), "there is no disk")
}

func TestPluginTextsAreBounded(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	long := strings.Repeat("é", 1<<20)
	message, err := s.check(t.Context(), "find", long)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(message, "é…"), "whole letters")
	require.Less(t, len(message), maxText+4)
	_, err = s.check(t.Context(), "refuse", long)
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.Less(t, len(err.Error()), maxText+50)
}

func TestLogBufferIsBounded(t *testing.T) {
	s := newStage(t)
	book := &logBuffer{log: s.config.Log, clock: s.clock}
	line := []byte(strings.Repeat("x", maxLoggedLine))
	for range maxBufferedLines {
		_, _ = book.Write(line)
	}
	_, _ = book.Write([]byte("last"))
	kept := book.lines()
	require.LessOrEqual(t, len(strings.Join(kept, "")), maxBufferedBytes)
	require.Equal(t, "last", kept[len(kept)-1])
	require.Equal(t, []string{"last"}, book.after(maxBufferedLines))
	require.Empty(t, book.after(book.written()))
}

func TestSharedMemoryCountsTowardsTheLimit(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	first := s.state().PID
	_, err := s.check(t.Context(), "share", "")
	require.NoError(t, err)
	s.until("it is killed", s.another(first))
	require.Contains(t, s.fault(), "of memory, and its manifest allows 128")
}

func TestPluginFileSizeIsLimited(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	call := s.asked("write", "")
	var got answered
	s.until("the call has failed", arrived(call, &got))
	require.Error(t, got.err)
}
