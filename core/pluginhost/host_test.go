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
	"go.uber.org/goleak"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// built is the directory of the programs that the tests start.
var built string

func TestMain(m *testing.M) {
	Shim()
	code := func() int {
		var err error
		if built, err = os.MkdirTemp("", "pluginhost"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(built)
		if err := os.Chmod(built, 0o755); err != nil { // some run as another user
			panic(err)
		}
		for _, name := range []string{"hostile", "hub"} {
			if err := buildtest.Program(filepath.Join(built, name), "./testdata/"+name); err != nil {
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
	temp, err := os.MkdirTemp("", "")
	require.NoError(t, err)
	config.Dir, config.TempDir, config.StartWithin, config.Patience = s.dir, temp, time.Minute, time.Hour
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
		ID: "hostile", Version: version, Protocol: 1, Capabilities: []string{"menu_check", "menu_render", "order_translate", "rider_status"},
		Binaries:  []sdk.Binary{{OS: runtime.GOOS, Arch: runtime.GOARCH, Path: mode, SHA256: digest}},
		Endpoints: []sdk.ManifestEndpoint{{Name: "api", Hosts: []string{"api.example.com"}}}, Secrets: []string{"token"},
		Limits: sdk.ManifestLimits{MemoryMB: 128, InFlight: 4},
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
	findings, err := s.Plugin("hostile").CheckItems(ctx, subject, 30*time.Second, []*sdk.Item{{RefId: refID, Description: description}})
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

func TestAPluginIsVerifiedStartedConfiguredAndReady(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	require.Equal(t, []State{Discovered, Verified, Starting, Configuring, Ready}, s.states())
	require.Equal(t, "hostile", s.Plugin("hostile").About().GetId())
	message, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", message)
	s.Stop("hostile")
	s.still("the plugin is stopped", s.is(Stopped))
	_, err = s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	s.Start("hostile")
	s.still("the plugin is ready again", s.is(Ready))
}

func TestAPluginThatIsNotInstalledCannotBeAskedNow(t *testing.T) {
	s := newStage(t)
	_, err := s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "plugin hostile is not installed at this replica of the hub")
}

func TestBackoffDoublesUpToTwoMinutes(t *testing.T) {
	for faults, want := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 8: 64 * time.Second, 9: 2 * time.Minute, 100: 2 * time.Minute,
	} {
		require.Equal(t, want, backoff(faults, 0))
		require.Equal(t, want*3/4, backoff(faults, 1))
	}
}

func TestFiveFaultsInTenMinutesAreQuarantineUntilAnotherVersionOrAnOperator(t *testing.T) {
	s := newStage(t)
	s.install("dies")
	s.Start("hostile")
	s.until("quarantine", s.is(Quarantined))
	require.Equal(t, mostFaults, s.state().Starts)
	require.Contains(t, s.fault(), "exit status 7")
	require.Contains(t, s.fault(), "there is no disk")
	_, err := s.check(t.Context(), "version", "")
	require.Equal(t, core.Unavailable, core.CodeOf(err))

	s.Start("hostile")
	s.until("quarantine again", func() bool { return s.state().Starts == 2*mostFaults && s.is(Quarantined)() })

	s.install("good")
	s.clock.Advance(longBackoff)
	s.still("the new version is ready", s.is(Ready))
}

func TestFaultsThatAreFarApartAreNoQuarantine(t *testing.T) {
	now := time.Now()
	late := now.Add(-9 * time.Minute)
	require.Equal(t, []time.Time{late, now}, recent([]time.Time{now.Add(-10 * time.Minute), late, now}, now))
}

func TestSettingsOfOneBusinessNeverReachACallOfAnother(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	var callers sync.WaitGroup
	for business := core.BusinessID(1); business <= 8; business++ {
		callers.Go(func() {
			for n := range 50 {
				settings := fmt.Sprintf(`{"of":%d,"n":%d}`, business, n)
				subject := Subject{Business: business, Platform: fmt.Sprintf("p%d", business), Settings: []byte(settings)}
				message, err := s.checkAs(t.Context(), subject, "settings", "")
				if want := fmt.Sprintf("%d p%d %s", business, business, settings); err != nil || message != want {
					t.Errorf("got %q, %v; want %q", message, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestCallsAtATimeAreLimited(t *testing.T) {
	s := newStage(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	for range 4 {
		s.asked("wait", file)
	}
	s.still("all places are taken", func() bool { return s.state().InFlight == 4 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.check(ctx, "version", "")
	require.ErrorContains(t, err, "all its calls are taken")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = s.check(t.Context(), "version", "")
	require.NoError(t, err)
}

func TestAddressesOfEndpointsAreAtAllowedHosts(t *testing.T) {
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
		"https://api.example.com@evil.example/":    "is not an address",
		"https://169.254.169.254/latest":           "is not allowed",
		"api.example.com":                          "is not an address",
		"https://api.example.com/?to=evil.example": "is not an address",
		"http://localhost:80":                      "is not allowed",
		"https://api.example.com/#x":               "is not an address",
	} {
		err := checkHost(hosts, "api", address)
		if message == "" {
			require.NoError(t, err, address)
		} else {
			require.ErrorContains(t, err, message, address)
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
	}
	require.ErrorContains(t, CheckAddress(&sdk.Description{Id: "x"}, "api", "https://api.example.com"), "has none of that name")
}
