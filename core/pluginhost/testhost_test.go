package pluginhost

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// programDir is the directory of the test programs.
var programDir string

// testHost is a host with a test clock and a directory of plugins.
type testHost struct {
	*Host
	t     *testing.T
	dir   string
	clock *clocktest.Clock

	mu         sync.Mutex
	calls      map[string]int // by outcome
	seenStates []State
}

// newTestHost returns a host whose plugins start faster, without namespaces.
func newTestHost(t *testing.T) *testHost {
	t.Helper()
	return newTestHostWith(t, Config{NoIsolation: true})
}

// newIsolatedHost returns a host whose plugins have namespaces if the system allows that.
func newIsolatedHost(t *testing.T) *testHost {
	t.Helper()
	return newTestHostWith(t, Config{})
}

// newTestHostWith returns a test host with the given configuration, completed with what tests need.
func newTestHostWith(t *testing.T, config Config) *testHost {
	t.Helper()
	s := &testHost{t: t, dir: t.TempDir(), clock: clocktest.New(), calls: map[string]int{}}
	temp := config.TempDir
	if temp == "" {
		temp = tempDir(t, "")
	}
	var err error
	// a start takes real time, in which the clock advances much further
	config.Dir, config.TempDir, config.StartTimeout, config.StartWait = s.dir, temp, time.Hour, time.Hour
	config.Clock, config.Observer = s.clock, s
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	s.Host, err = Open(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() { s.Close(); close(ended) }()
		s.advanceUntil("the host is closed", func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		})
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left, "the host left something behind")
		require.NoError(t, os.Remove(temp))
	})
	return s
}

// tempDir creates a directory that the test host removes. Its name begins as given.
func tempDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", name)
	require.NoError(t, err)
	return dir
}

// PluginCalled counts a call (Observer).
func (s *testHost) PluginCalled(_, _, outcome string, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[outcome]++
}

// PluginEntered records a state (Observer).
func (s *testHost) PluginEntered(_ string, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seenStates = append(s.seenStates, state)
}

func (s *testHost) states() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]State(nil), s.seenStates...)
}

// install installs the hostile plugin with a mode. change may alter its manifest.
func (s *testHost) install(mode string, change ...func(*sdk.Manifest)) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "hostile")
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	program := filepath.Join(programDir, "hostile")
	file, err := os.Open(program)
	require.NoError(s.t, err)
	defer file.Close()
	digest, err := sdk.Digest(file)
	require.NoError(s.t, err)
	_ = os.Remove(filepath.Join(dir, mode))
	require.NoError(s.t, os.Symlink(program, filepath.Join(dir, mode)))
	version := "1.0.0"
	if mode == "second" {
		version = "2.0.0"
	}
	manifest := &sdk.Manifest{
		ID: "hostile", Version: version, Protocol: 1,
		Capabilities: []string{"menu_check", "menu_render", "order_translate", "rider_status"},
		Binaries:     []sdk.Binary{{OS: runtime.GOOS, Arch: runtime.GOARCH, Path: mode, SHA256: digest}},
		Endpoints:    []sdk.ManifestEndpoint{{Name: "api", Hosts: []string{"api.example.com"}}},
		Secrets:      []string{"token"},
		Limits:       sdk.ManifestLimits{MemoryMB: 128, InFlight: 4},
	}
	for _, c := range change {
		c(manifest)
	}
	text, err := manifest.YAML()
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, sdk.ManifestName), text, 0o600))
}

// advanceUntil advances the clock until a condition holds. The clock stops while the host has not yet noticed that a
// process has ended. Otherwise health checks would be missed.
func (s *testHost) advanceUntil(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		if holds() {
			return true
		}
		if !s.processEnding() {
			s.clock.Advance(20 * time.Millisecond) // healthTimeout is then 100 ms of real time
		}
		return holds()
	}, 2*time.Minute, 2*time.Millisecond, what)
}

// processEnding reports whether the process of a running plugin has ended.
func (s *testHost) processEnding() bool {
	return slices.ContainsFunc(s.Status(), func(p Status) bool {
		if runtime.GOOS != "linux" || p.PID == 0 || p.State != Ready && p.State != Degraded {
			return false
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return err != nil || len(state) > 0 && state[0] == 'Z'
	})
}

// waitUntil waits for a condition without advancing the clock.
func (s *testHost) waitUntil(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, 2*time.Minute, time.Millisecond, what)
}

func (s *testHost) status() Status {
	list := s.Status()
	require.Len(s.t, list, 1)
	return list[0]
}

// signal sends a signal to the plugin's process.
func (s *testHost) signal(signal syscall.Signal) (pid int) {
	s.t.Helper()
	pid = s.status().PID
	require.Positive(s.t, pid) // 0 would be this test's own group
	require.NoError(s.t, syscall.Kill(pid, signal))
	return pid
}

// replaced returns a condition: another process serves than the given one.
func (s *testHost) replaced(than int) func() bool {
	return func() bool { now := s.status(); return now.PID != than && now.PID != 0 && now.State == Ready }
}

func (s *testHost) inState(state State) func() bool {
	return func() bool { return s.status().State == state }
}

// ready installs a mode, starts it and waits until it is ready.
func (s *testHost) ready(mode string) {
	s.t.Helper()
	s.install(mode)
	s.Start("hostile")
	s.waitUntil("the plugin is ready", s.inState(Ready))
}

func (s *testHost) check(ctx context.Context, refID, description string) (string, error) {
	return s.checkAs(ctx, testSubject(), refID, description)
}

func testSubject() Subject { return Subject{Business: 1, Platform: "tasty", Settings: []byte(`{}`)} }

func (s *testHost) checkAs(ctx context.Context, subject Subject, refID, description string) (string, error) {
	return s.checkWithin(ctx, 30*time.Second, subject, &sdk.Item{RefId: refID, Description: description})
}

func (s *testHost) checkWithin(ctx context.Context, within time.Duration, subject Subject,
	item *sdk.Item) (string, error) {
	findings, err := s.Plugin("hostile").CheckItems(ctx, subject, within,
		&sdk.Check{Items: []*sdk.Item{item}})
	if err != nil || len(findings) == 0 {
		return "", err
	}
	return findings[0].GetMessage(), nil
}

// checkAsync starts a call in the background. Its deadline is late, since the clock advances while a process starts.
func (s *testHost) checkAsync(refID, description string) <-chan asyncResult {
	return s.checkAsyncWithin(time.Hour, refID, description)
}

func (s *testHost) checkAsyncWithin(within time.Duration, refID, description string) <-chan asyncResult {
	ch := make(chan asyncResult, 1)
	go func() {
		message, err := s.checkWithin(s.t.Context(), within, testSubject(),
			&sdk.Item{RefId: refID, Description: description})
		ch <- asyncResult{message, err}
	}()
	return ch
}

// pastDeadline makes a call whose deadline passes once it is sent, and returns its error.
func (s *testHost) pastDeadline(call func(context.Context) error) error {
	s.t.Helper()
	return s.pastDeadlineOnce(func() bool { return s.status().InFlight == 1 }, call)
}

// crashLate makes a call whose deadline passes once the plugin has it. The process exits when file exists.
func (s *testHost) crashLate(file string) {
	s.t.Helper()
	waits := file + ".waits"
	err := s.pastDeadlineOnce(func() bool { _, err := os.Stat(waits); return err == nil },
		func(ctx context.Context) error {
			_, err := s.check(ctx, "crash-late", file)
			return err
		})
	require.ErrorContains(s.t, err, "no response in time")
	require.NoError(s.t, os.Remove(waits))
}

func (s *testHost) pastDeadlineOnce(underWay func() bool, call func(context.Context) error) error {
	s.t.Helper()
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() { failed <- call(ctx) }()
	s.waitUntil("the call is under way", underWay)
	cancel(context.DeadlineExceeded)
	return <-failed
}

type asyncResult struct {
	message string
	err     error
}

func received(ch <-chan asyncResult, into *asyncResult) func() bool {
	return func() bool {
		select {
		case *into = <-ch:
			return true
		default:
			return false
		}
	}
}

// lastFault returns the text of the plugin's last fault, or "".
func (s *testHost) lastFault() string {
	if faults := s.status().Faults; len(faults) > 0 {
		return faults[0].Text
	}
	return ""
}
