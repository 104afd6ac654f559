package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if programDir, err = os.MkdirTemp("", "pluginhost"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(programDir)
		if err := os.Chmod(programDir, 0o755); err != nil { // some tests run it as another user
			panic(err)
		}
		for _, name := range []string{"hostile", "hub"} {
			if err := buildtest.Program(filepath.Join(programDir, name), "./testdata/"+name); err != nil {
				panic(err)
			}
		}
		if code := m.Run(); code != 0 {
			return code
		}
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}()
	os.Exit(code)
}

func TestPluginPassesEveryStateUntilReady(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	require.Equal(t, []State{Discovered, Verified, Starting, Configuring, Ready}, s.states())
	require.Equal(t, "hostile", s.Plugin("hostile").Description().GetId())
	message, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", message)
	s.Stop("hostile")
	s.waitUntil("the plugin is stopped", s.inState(Stopped))
	_, err = s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	s.Start("hostile")
	s.waitUntil("the plugin is ready again", s.inState(Ready))
}

func TestPluginStartsBelowTheLongestDirectory(t *testing.T) {
	const random = len("4294967295")
	name := maxRuntimeDirPath - len("/"+runtimeDirPrefix) - random - len(filepath.Join(os.TempDir(), "x")) + 1 - random
	if name < 0 {
		t.Skip("the directory for temporary files has a longer path")
	}
	s := newTestHostWith(t, Config{TempDir: tempDir(t, strings.Repeat("x", name))})
	s.ready("good")
	require.InDelta(t, maxRuntimeDirPath, len(s.runtimeDir.dir), 4, "random numbers differ in length")
}

func TestCallToAMissingPluginIsUnavailable(t *testing.T) {
	s := newTestHost(t)
	_, err := s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "plugin hostile is not installed at this replica of the hub")
}

func TestRequestsDoNotWaitForAHangingPlugin(t *testing.T) {
	s := newTestHost(t)
	s.install("mute")
	s.Start("hostile")
	s.waitUntil("it is being started", s.inState(Starting))
	upgraded := make(chan error, 1)
	go func() { upgraded <- s.Upgrade(t.Context(), "hostile") }()
	s.waitUntil("the upgrade is requested", func() bool { return len(s.supervisor("hostile").requests) == 1 })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range maxRequests {
			s.Start("hostile")
		}
		s.Stop("hostile")
	}()
	s.waitUntil("all are sent", func() bool { return isClosed(sent) })
	require.ErrorContains(t, <-upgraded, "many other requests to plugin hostile followed")
	s.install("good")
	s.clock.Advance(s.config.StartTimeout)
	s.waitUntil("the last request counts", s.inState(Stopped))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestBackoffDoublesUpToTwoMinutes(t *testing.T) {
	for faults, want := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 8: 64 * time.Second, 9: 2 * time.Minute,
		100: 2 * time.Minute,
	} {
		require.Equal(t, want, backoff(faults, 0))
		require.Equal(t, want*3/4, backoff(faults, 1))
	}
}

func TestRepeatedFaultsQuarantineThePlugin(t *testing.T) {
	s := newTestHost(t)
	s.install("dies")
	s.Start("hostile")
	s.advanceUntil("quarantine", s.inState(Quarantined))
	require.Equal(t, maxFaults, s.status().Starts)
	require.Contains(t, s.lastFault(), "exit status 7")
	require.Contains(t, s.lastFault(), "there is no disk")
	_, err := s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))

	s.Start("hostile")
	s.advanceUntil("quarantine again",
		func() bool { return s.status().Starts == 2*maxFaults && s.inState(Quarantined)() })

	s.install("good")
	s.clock.Advance(maxBackoff)
	s.waitUntil("the new version is ready", s.inState(Ready))
}

func TestOldFaultsDoNotCountForQuarantine(t *testing.T) {
	now := time.Now()
	late := now.Add(-9 * time.Minute)
	require.Equal(t, []crash{{at: late}, {at: now}},
		withinWindow([]crash{{at: now.Add(-10 * time.Minute)}, {at: late}, {at: now}}, now))
}

func TestCallsReceiveOnlyTheirBusinessSettings(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	var callers sync.WaitGroup
	for business := core.BusinessID(1); business <= 8; business++ {
		callers.Go(func() {
			for n := range 50 {
				settings := fmt.Sprintf(`{"of":%d,"n":%d}`, business, n)
				subject := Subject{Business: business, Platform: fmt.Sprintf("p%d", business),
					Settings: []byte(settings)}
				message, err := s.checkAs(t.Context(), subject, "settings", "")
				if want := fmt.Sprintf("%d p%d %s", business, business, settings); err != nil || message != want {
					t.Errorf("got %q, %v; want %q", message, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestConcurrentPluginCallsAreLimited(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	for range 4 {
		s.checkAsync("wait", file)
	}
	s.waitUntil("all places are taken", func() bool { return s.status().InFlight == 4 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.check(ctx, "version", "")
	require.ErrorContains(t, err, "its concurrency limit is reached")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = s.check(t.Context(), "version", "")
	require.NoError(t, err)
}

// slowContext is a context whose Done takes a while, as the wait for a slot does.
type slowContext struct {
	context.Context
	wait func()
}

// Done waits (context.Context).
func (c slowContext) Done() <-chan struct{} {
	c.wait()
	return c.Context.Done()
}

func TestCallThatWaitedTooLongIsNotMade(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	for waited, refused := range map[time.Duration]bool{29 * time.Second: false, 31 * time.Second: true} {
		bound, cancel := withTimeout(t.Context(), s.clock, 40*time.Second)
		defer cancel()
		call := slowContext{bound, func() { s.clock.Advance(waited) }}
		_, release, err := s.supervisor("hostile").acquire(call, nil, false)
		if refused {
			require.Equal(t, core.Unavailable, core.CodeOf(err))
			require.ErrorContains(t, err, "waited for it for too long")
			require.Zero(t, s.status().InFlight)
			require.Empty(t, s.supervisor("hostile").slots)
			continue
		}
		require.NoError(t, err)
		release()
	}
}

func TestEndpointURLsRequireAllowedHosts(t *testing.T) {
	hosts := []string{"*.aggregator.example", "api.example.com", "127.0.0.1"}
	for address, message := range map[string]string{
		"https://api.example.com/v1":               "",
		"https://eu.aggregator.example":            "",
		"https://API.example.com:8443":             "",
		"http://127.0.0.1:9100":                    "",
		"http://api.example.com":                   "must begin with https://",
		"https://aggregator.example":               "is not allowed",
		"https://evilaggregator.example":           "is not allowed",
		"https://api.example.com.evil.example":     "is not allowed",
		"https://api.example.com@evil.example/":    "must be a URL",
		"https://169.254.169.254/latest":           "is not allowed",
		"api.example.com":                          "must be a URL",
		"https://api.example.com/?to=evil.example": "must be a URL",
		"http://localhost:80":                      "is not allowed",
		"https://api.example.com/#x":               "must be a URL",
	} {
		err := checkHost(hosts, "api", address)
		if message == "" {
			require.NoError(t, err, address)
		} else {
			require.ErrorContains(t, err, message, address)
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
	}
	require.ErrorContains(t, CheckEndpointURL(&sdk.Description{Id: "x"}, "api", "https://api.example.com"),
		"has no endpoint of that name")
}

func TestRecheckHasTheWholeTimeOfItsCaller(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	longer, err := s.checkWithin(t.Context(), time.Minute, testSubject(), &sdk.Item{RefId: "deadline"})
	require.NoError(t, err)
	require.Equal(t, "true", longer, "more than 30 s")
}
