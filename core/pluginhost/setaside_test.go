package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// testJournal is a Journal in memory.
type testJournal struct {
	mu     sync.Mutex
	aside  []SetAside
	faults []FaultReport
}

// RecordFault stores a fault (Journal).
func (j *testJournal) RecordFault(f FaultReport) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.faults = append(j.faults, f)
}

// SetAside stores a request (Journal).
func (j *testJournal) SetAside(_ context.Context, r SetAside) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.aside = append(j.aside, r)
	return nil
}

// IsSetAside reports whether a request is stored (Journal).
func (j *testJournal) IsSetAside(_ context.Context, r Request) (bool, error) {
	return slices.ContainsFunc(j.requests(), func(s SetAside) bool { return s.Request == r }), nil
}

func (j *testJournal) requests() []SetAside {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.aside)
}

func (j *testJournal) reports() []FaultReport {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.faults)
}

// retry removes every request, as an operator does.
func (j *testJournal) retry() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.aside = nil
}

func newJournalHost(t *testing.T) (*testHost, *testJournal) {
	t.Helper()
	journal := &testJournal{}
	return newTestHostWith(t, Config{NoIsolation: true, Journal: journal}), journal
}

// serves waits until the plugin serves after a number of starts.
func (s *testHost) serves(starts int) {
	s.t.Helper()
	s.advanceUntil("it serves", func() bool {
		now := s.status()
		return now.State == Ready && now.Starts == starts && now.PID != 0
	})
}

// crash makes a call that ends the process each time, and returns its error.
func (s *testHost) crash(description string) error {
	s.t.Helper()
	return s.crashOf("crash", description)
}

func (s *testHost) crashOf(refID, description string) error {
	s.t.Helper()
	var got asyncResult
	s.advanceUntil("the call has failed", received(s.checkAsync(refID, description), &got))
	return got.err
}

func TestPoisonRequestIsSetAside(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	err := s.crash("soup")
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.True(t, IsSetAside(err))
	require.Len(t, journal.requests(), 1)
	aside := journal.requests()[0]
	require.Equal(t, []any{"hostile", "1.0.0", "Menu.CheckItems", core.BusinessID(1), "tasty", "items crash"},
		[]any{aside.Plugin, aside.Version, aside.Call, aside.Business, aside.Platform, aside.About})
	require.Contains(t, aside.Fault, "exit status 3")

	s.serves(3)
	pid := s.status().PID
	for range 2 * maxFaults {
		require.True(t, IsSetAside(s.crash("soup")))
	}
	require.Equal(t, pid, s.status().PID, "the plugin is not called with it again")
	message, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", message)
	require.Len(t, journal.requests(), 1)
}

func TestPluginThatClosesItsConnectionIsReplaced(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	var got asyncResult
	s.advanceUntil("the call has failed", received(s.checkAsync("hang-up", ""), &got))
	require.True(t, IsSetAside(got.err))
	s.serves(3)
	message, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", message)
	require.Equal(t, closedConnection, s.lastFault())
	require.Equal(t, closedConnection, journal.requests()[0].Fault)
}

func TestSetAsideRequestNamesTheExceededLimit(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	require.True(t, IsSetAside(s.crashOf("hold-memory", "")))
	s.serves(3)
	require.Regexp(t, `^it used \d+ MB of memory, and its manifest allows 128$`, journal.requests()[0].Fault)
	reports := journal.reports()
	require.Len(t, reports, 2)
	require.Equal(t, reports[0].Group, reports[1].Group, "one entry for both")
	require.Empty(t, reports[0].Stack)
}

func TestRequestCrashingAfterItsDeadlineIsSetAside(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	for n := range 2 {
		s.crashLate(file)
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		s.serves(2 + n)
		require.NoError(t, os.Remove(file))
	}
	_, err := s.check(t.Context(), "crash-late", file)
	require.True(t, IsSetAside(err))
	require.Len(t, journal.requests(), 1)
	require.Contains(t, journal.requests()[0].Fault, "exit status 3")
	require.Equal(t, "items crash-late", journal.reports()[1].About)
}

func TestSuspicionEndsWithAReplyOrByTime(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	k := s.supervisor("hostile")
	item := &sdk.Item{RefId: "refuse", Description: "no"}
	request := newRequest(checkItemsCall, testSubject(), item)
	suspect := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.suspects[request.identify(k.current.installed)] = s.clock.Now()
	}
	suspect()
	require.True(t, k.mustRunAlone(request))
	_, err := s.check(t.Context(), "refuse", "no")
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.False(t, k.mustRunAlone(request), "the plugin has replied to it")

	suspect()
	s.clock.Advance(faultWindow)
	require.False(t, k.mustRunAlone(request))
	require.Empty(t, k.suspects)
}

func TestPoisonMenuIsNotRetried(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	failed, got := make(chan asyncResult, 1), asyncResult{}
	go func() {
		_, err := s.Plugin("hostile").Render(t.Context(), Subject{Business: 1},
			&sdk.Menu{Store: &pb.Store{RefId: "crash"}})
		failed <- asyncResult{err: err}
	}()
	ended := received(failed, &got)
	s.waitUntil("the call has failed", func() bool {
		if s.inState(Backoff)() { // the deadline of the call must not pass while processes end and start
			s.clock.Advance(50 * time.Millisecond)
		}
		return ended()
	})
	require.True(t, IsSetAside(got.err))
	require.Equal(t, core.Invalid, core.CodeOf(got.err))
}

func TestSettingsIdentifyTheirCheck(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	k := s.supervisor("hostile")
	check := func(request string) {
		subject := testSubject()
		subject.Request = request
		_, err := s.Plugin("hostile").CheckSettings(t.Context(), subject)
		require.NoError(t, err)
	}
	subject := testSubject()
	subject.About = "the settings"
	k.mu.Lock()
	k.suspects[newRequest("Plugin.Configure", subject).identify(k.current.installed)] = s.clock.Now()
	k.mu.Unlock()
	check("the id of a call")
	require.Empty(t, k.suspects, "it is the same request in each call")
}

func TestRetriedRequestReachesThePluginAgain(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	for n := range maxFaults { // the crashes of one request count once
		require.True(t, IsSetAside(s.crash("soup")))
		s.serves(3 + 2*n)
		journal.retry()
	}

	require.True(t, IsSetAside(s.crash("soup")))
	s.serves(3 + 2*maxFaults)
	s.install("second")
	require.NoError(t, s.Upgrade(t.Context(), "hostile"))
	require.True(t, IsSetAside(s.crash("soup")))
	s.serves(6 + 2*maxFaults) // another build was called with it
	require.Equal(t, "2.0.0", journal.requests()[1].Version)
}

func TestSharedSetAsideRequestIsNotCalled(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	require.True(t, IsSetAside(s.crash("soup")))
	aside := journal.requests()[0].Request

	other := newTestHostWith(t, Config{NoIsolation: true, Journal: journal})
	other.ready("good")
	aside.Build = other.supervisor("hostile").current.installed.manifestDigest
	journal.aside[0].Request = aside
	other.UpdateSetAside("hostile", []Request{aside})
	require.True(t, IsSetAside(other.crash("soup")))
	require.Equal(t, 1, other.status().Starts)
}

func TestInnocentRequestIsNotSetAside(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	innocent := make([]<-chan asyncResult, 3)
	for n := range innocent {
		innocent[n] = s.checkAsync("wait", file)
	}
	s.waitUntil("they are under way", func() bool { return s.status().InFlight == len(innocent) })
	poison := s.checkAsync("crash", "soup")
	s.advanceUntil("a crash", func() bool { return s.lastFault() != "" })
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	var got asyncResult
	s.advanceUntil("the call has failed", received(poison, &got))
	require.True(t, IsSetAside(got.err))
	for _, call := range innocent {
		s.advanceUntil("the call has ended", received(call, &got))
		require.NoError(t, got.err)
		require.Equal(t, "1.0.0", got.message)
	}
	require.Len(t, journal.requests(), 1)
	require.Equal(t, "items crash", journal.requests()[0].About)
}

func TestDifferentPoisonRequestsQuarantineThePlugin(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	for n := range maxFaults - 1 {
		require.True(t, IsSetAside(s.crash(fmt.Sprint("soup ", n))))
		s.serves(3 + 2*n)
	}
	require.Equal(t, core.Unavailable, core.CodeOf(withoutAside(s.crash("another soup"))))
	require.Equal(t, Quarantined, s.status().State)
	require.Len(t, journal.requests(), maxFaults-1)
}

// withoutAside returns the error, or nil if the request is set aside.
func withoutAside(err error) error {
	if IsSetAside(err) {
		return nil
	}
	return err
}

func TestFaultsAreReportedWithCallAndStack(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	for range 2 {
		_, err := s.check(t.Context(), "panic", "")
		require.Error(t, err)
	}
	panics := journal.reports()
	require.Len(t, panics, 2)
	require.Equal(t, panics[0].Group, panics[1].Group)
	require.Equal(t, []any{FaultPanic, "Menu.CheckItems", "items panic", core.BusinessID(1), "tasty", "1.0.0", false},
		[]any{panics[0].Kind, panics[0].Call, panics[0].About, panics[0].Business, panics[0].Platform,
			panics[0].Version,
			panics[0].Ended})
	require.Contains(t, panics[0].Stack, "main.crash\n")
	require.NotContains(t, panics[0].Stack, "+0x")

	_, err := s.check(t.Context(), "unknown-item", "")
	require.Error(t, err)
	require.Equal(t, FaultInvalid, journal.reports()[2].Kind)
	require.True(t, IsSetAside(s.crash("soup")))
	s.serves(3)
	crashes := journal.reports()[3:]
	require.Len(t, crashes, 2)
	require.Equal(t, []any{FaultCrash, "Menu.CheckItems", "items crash", true, crashes[1].Group},
		[]any{crashes[0].Kind, crashes[0].Call, crashes[0].About, crashes[0].Ended, crashes[0].Group})
	s.timeOut(t, "1")
	late := journal.reports()[5]
	require.Equal(t, []any{FaultDeadline, "Orders.Translate"}, []any{late.Kind, late.Call})
}

func TestCrashStackIsReadFromTheLog(t *testing.T) {
	stack := stackIn([]string{"panic: a mistake", "goroutine 1 [running]:", "main.crash({0xc000012345, 0x5})",
		"\t/src/main.go:131 +0x1d", "main.main()", "\t/src/main.go:20 +0x99", "goroutine 2 [select]:",
		"other.run(0x1)"})
	require.Equal(t, "main.crash\n  /src/main.go:131\nmain.main\n  /src/main.go:20", stack)
	require.Empty(t, stackIn([]string{"there is no disk"}))
}

func TestPluginErrorsArePublicOnlyWhenPlain(t *testing.T) {
	for _, plain := range []string{
		"orders: order.lines must not be empty", `order: mode "FLY" must be DELIVERY, SELF_DELIVERY or TAKEAWAY`,
		`items[0].price: "12.5.1" is no decimal number`, "temp is required with rider_body_temp",
	} {
		require.Equal(t, "plugin tasty: "+plain, rejection("tasty", plain).Message)
		require.Equal(t, plain, PublicReason(plain))
	}
	for _, leak := range []string{
		"open /etc/servery/secret.key: permission denied", `open C:\keys`, "token sk_live_51HxYz is wrong", "key=value",
		"main.go:12 failed", "goroutine 1 running", "runtime error: index out of range", "one line\nand another",
		"Traceback, most recent call last", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "card 4111111111111111", "",
	} {
		err := rejection("tasty", leak)
		require.Equal(t, "plugin tasty rejected the request (plugin_rejected)", err.Message, leak)
		require.Contains(t, err.Error(), leak, "the detail is for the log")
		if leak != "" {
			require.NotContains(t, PublicReason(leak), leak)
		}
	}
}

// publicMessage returns what callers outside of the hub read of an error.
func publicMessage(t *testing.T, err error) string {
	t.Helper()
	var known *core.Error
	require.ErrorAs(t, err, &known)
	return known.Message
}

func TestPluginFaultTextsAreNotPublic(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	_, err := s.check(t.Context(), "panic", "")
	require.Equal(t, "plugin hostile failed at this request (plugin_failed)", publicMessage(t, err))
	_, err = s.check(t.Context(), "refuse", "open /etc/passwd: no")
	require.Equal(t, "plugin hostile rejected the request (plugin_rejected)", publicMessage(t, err))
	_, err = s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1}, &sdk.InboundRequest{Kind: "amounts"})
	require.Equal(t, "plugin hostile returned an invalid order (plugin_invalid_result)", publicMessage(t, err))
	s.install("dies")
	require.Error(t, s.Upgrade(t.Context(), "hostile"))
	require.True(t, IsSetAside(s.crash("soup")))
	require.NotContains(t, publicMessage(t, s.crash("soup")), "exit status")

	down := newTestHost(t)
	down.install("dies")
	down.Start("hostile")
	down.waitUntil("backoff", down.inState(Backoff))
	require.Equal(t, "plugin hostile is unavailable: it restarts after a fault (plugin_unavailable)",
		publicMessage(t, down.supervisor("hostile").unavailable(Backoff, "")))
	down.advanceUntil("quarantine", down.inState(Quarantined))
	_, err = down.check(t.Context(), "version", "")
	require.Equal(t, "plugin hostile is unavailable: it is quarantined (plugin_unavailable)", publicMessage(t, err))
	require.ErrorContains(t, err, "there is no disk")
}
