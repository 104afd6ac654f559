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

// built is the directory of the programs that the tests start.
var built string

// stage is a host whose clock the test moves, and its directory of plugins.
type stage struct {
	*Host
	t     *testing.T
	dir   string
	clock *clocktest.Clock

	mu    sync.Mutex
	calls map[string]int // by outcome
	seen  []State
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOf(t, Config{})
}

// newStageOf is a stage whose host is configured as given, beside what tests need.
func newStageOf(t *testing.T, config Config) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), clock: clocktest.New(), calls: map[string]int{}}
	temp := config.TempDir
	if temp == "" {
		temp = tempDir(t, "")
	}
	var err error
	config.Dir, config.TempDir, config.StartTimeout, config.StartWait = s.dir, temp, time.Minute, time.Hour
	config.Clock, config.Observer, config.Log = s.clock, s, slog.New(slog.DiscardHandler)
	s.Host, err = Open(config)
	require.NoError(t, err)
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() { s.Close(); close(ended) }()
		s.until("the host is closed", func() bool {
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

// tempDir creates a directory that the stage removes; its name begins as given.
func tempDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", name)
	require.NoError(t, err)
	return dir
}

// PluginCalled counts a call (Observer).
func (s *stage) PluginCalled(_, _, outcome string, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[outcome]++
}

// PluginEntered notes a state (Observer).
func (s *stage) PluginEntered(_ string, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, state)
}

func (s *stage) states() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]State(nil), s.seen...)
}

// install puts the hostile plugin there under a mode; change may alter its manifest.
func (s *stage) install(mode string, change ...func(*sdk.Manifest)) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "hostile")
	require.NoError(s.t, os.MkdirAll(dir, 0o700))
	program := filepath.Join(built, "hostile")
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

// until moves the clock until a condition holds. It stands still while the host has yet to
// notice that a process has ended: else health checks would be missed meanwhile.
func (s *stage) until(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		if holds() {
			return true
		}
		if !s.ending() {
			s.clock.Advance(10 * time.Millisecond)
		}
		return holds()
	}, 30*time.Second, 2*time.Millisecond, what)
}

// ending tells whether a plugin that the host takes for running has ended.
func (s *stage) ending() bool {
	return slices.ContainsFunc(s.Status(), func(p Status) bool {
		if runtime.GOOS != "linux" || p.PID == 0 || p.State != Ready && p.State != Degraded {
			return false
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return err != nil || len(state) > 0 && state[0] == 'Z'
	})
}

// still waits for a condition while the clock stands still.
func (s *stage) still(what string, holds func() bool) {
	s.t.Helper()
	require.Eventually(s.t, holds, 30*time.Second, time.Millisecond, what)
}

func (s *stage) state() Status {
	list := s.Status()
	require.Len(s.t, list, 1)
	return list[0]
}

// signal sends a signal to the plugin's process.
func (s *stage) signal(signal syscall.Signal) (pid int) {
	s.t.Helper()
	pid = s.state().PID
	require.Positive(s.t, pid) // 0 would be this test's own group
	require.NoError(s.t, syscall.Kill(pid, signal))
	return pid
}

// another tells whether another process than one serves.
func (s *stage) another(than int) func() bool {
	return func() bool { now := s.state(); return now.PID != than && now.PID != 0 && now.State == Ready }
}

func (s *stage) is(state State) func() bool {
	return func() bool { return s.state().State == state }
}

// ready installs and starts a mode that gets ready.
func (s *stage) ready(mode string) {
	s.t.Helper()
	s.install(mode)
	s.Start("hostile")
	s.still("the plugin is ready", s.is(Ready))
}

func (s *stage) check(ctx context.Context, refID, description string) (string, error) {
	return s.checkAs(ctx, Subject{Business: 1, Platform: "tasty", Settings: []byte(`{}`)}, refID, description)
}

func (s *stage) checkAs(ctx context.Context, subject Subject, refID, description string) (string, error) {
	findings, err := s.Plugin("hostile").CheckItems(ctx, subject, 30*time.Second,
		[]*sdk.Item{{RefId: refID, Description: description}})
	if err != nil || len(findings) == 0 {
		return "", err
	}
	return findings[0].GetMessage(), nil
}

// asked is a call that goes on beside the test.
func (s *stage) asked(refID, description string) <-chan answered {
	ch := make(chan answered, 1)
	go func() {
		message, err := s.check(s.t.Context(), refID, description)
		ch <- answered{message, err}
	}()
	return ch
}

// expired makes a call whose deadline passes as soon as the plugin has it, and returns its error.
func (s *stage) expired(call func(context.Context) error) error {
	s.t.Helper()
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() { failed <- call(ctx) }()
	s.still("the call is under way", func() bool { return s.state().InFlight == 1 })
	cancel(context.DeadlineExceeded)
	return <-failed
}

type answered struct {
	message string
	err     error
}

func arrived(ch <-chan answered, into *answered) func() bool {
	return func() bool {
		select {
		case *into = <-ch:
			return true
		default:
			return false
		}
	}
}

// fault is the text of the plugin's last fault.
func (s *stage) fault() string {
	if faults := s.state().Faults; len(faults) > 0 {
		return faults[0].Text
	}
	return ""
}
