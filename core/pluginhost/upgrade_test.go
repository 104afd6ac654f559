package pluginhost

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestUpgradeLosesNoCall(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	slow := s.checkAsync("wait", file)
	s.waitUntil("the call is under way", func() bool { return s.status().InFlight == 1 })

	s.install("second")
	upgraded := make(chan error, 1)
	go func() { upgraded <- s.Upgrade(t.Context(), "hostile") }()
	s.waitUntil("the new version answers", func() bool {
		message, err := s.check(t.Context(), "version", "")
		require.NoError(t, err, "no call fails during an upgrade")
		return message == "2.0.0"
	})
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	got := <-slow
	require.NoError(t, got.err)
	require.Equal(t, "1.0.0", got.message, "the old version ends what it began")
	require.NoError(t, <-upgraded)
	require.Equal(t, "2.0.0", s.status().Version)
}

func TestInstallationReplacesAMissingProgram(t *testing.T) {
	s := newTestHost(t)
	s.install("good")
	p, err := readInstalled(s.dir, "hostile")
	require.NoError(t, err)
	require.NoError(t, os.Remove(p.program))
	n, err := Prepare(s.dir, t.TempDir(), "hostile", "hostile")
	require.NoError(t, err)
	require.Empty(t, n.former, "there is no version to restore")
}

func TestPlanHasTheDescriptionOfItsProcess(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	var planned Decision
	done := make(chan error, 1)
	go func() {
		var err error
		planned, err = s.Plugin("hostile").Render(t.Context(), testSubject(),
			&sdk.Menu{Store: &pb.Store{RefId: "wait:" + file}})
		done <- err
	}()
	s.waitUntil("the call is under way", func() bool { return s.status().InFlight == 1 })
	s.install("second")
	upgraded := make(chan error, 1)
	go func() { upgraded <- s.Upgrade(t.Context(), "hostile") }()
	s.waitUntil("the new version serves",
		func() bool { return s.Plugin("hostile").Description().GetVersion() == "2.0.0" })
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, <-done)
	require.Equal(t, "1.0.0", planned.Description.GetVersion())
	require.NoError(t, <-upgraded)
}

func TestFailedUpgradeKeepsTheOldVersion(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	answers := func(version string) {
		t.Helper()
		message, err := s.check(t.Context(), "version", "")
		require.NoError(t, err)
		require.Equal(t, version, message)
	}
	s.install("dies")
	require.ErrorContains(t, s.Upgrade(t.Context(), "hostile"),
		"version 1.0.0 runs until the hub restarts: it exited before it served")
	require.Equal(t, Ready, s.status().State)
	answers("1.0.0")

	s.advanceUntil("the old one is started again", s.replaced(s.signal(syscall.SIGKILL)))
	answers("1.0.0")
	s.Stop("hostile")
	s.advanceUntil("it is stopped", s.inState(Stopped))
	require.ErrorContains(t, s.Upgrade(t.Context(), "hostile"), "it exited before it served",
		"an operator has it tried again")
	s.advanceUntil("the old one is started again", s.inState(Ready))
	answers("1.0.0")

	s.install("second")
	require.NoError(t, s.Upgrade(t.Context(), "hostile"))
	s.advanceUntil("the new one is started again", s.replaced(s.signal(syscall.SIGKILL)))
	answers("2.0.0")
}

func TestNewVersionIsSupervisedWhileTheOldDrains(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	file := filepath.Join(t.TempDir(), "go")
	slow := s.checkAsync("wait", file)
	s.waitUntil("the call is under way", func() bool { return s.status().InFlight == 1 })
	s.install("second")
	upgraded := make(chan error, 1)
	go func() { upgraded <- s.Upgrade(t.Context(), "hostile") }()
	s.waitUntil("the new version serves",
		func() bool { return s.status().Version == "2.0.0" && s.status().InFlight == 0 })
	killed := s.signal(syscall.SIGKILL)
	s.advanceUntil("it is started again", s.replaced(killed))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, asyncResult{"1.0.0", nil}, <-slow)
	require.NoError(t, <-upgraded)
}

func TestUpgradeStartsAStoppedPlugin(t *testing.T) {
	for _, at := range []struct {
		state State
		bring func(*testHost)
	}{
		{Backoff, func(s *testHost) { s.Start("hostile"); s.waitUntil("backoff", s.inState(Backoff)) }},
		{Quarantined, func(s *testHost) { s.Start("hostile"); s.advanceUntil("quarantine", s.inState(Quarantined)) }},
		{Stopped, func(s *testHost) {
			s.Start("hostile")
			s.Stop("hostile")
			s.advanceUntil("it is stopped", s.inState(Stopped))
		}},
	} {
		t.Run(string(at.state), func(t *testing.T) {
			s := newTestHost(t)
			s.install("dies")
			at.bring(s)
			err := s.Upgrade(t.Context(), "hostile")
			require.ErrorContains(t, err, "does not get ready: it exited before it served (exit status 7")
			s.install("second")
			require.NoError(t, s.Upgrade(t.Context(), "hostile"))
			require.Equal(t, []any{Ready, "2.0.0"}, []any{s.status().State, s.status().Version})
		})
	}
}

func TestReplacedProgramIsNoFallback(t *testing.T) {
	s := newTestHost(t)
	s.ready("replaces-itself")
	s.install("dies")
	require.Error(t, s.Upgrade(t.Context(), "hostile"))
	require.Contains(t, s.status().Faults[1].Text, "storing version 1.0.0 failed: its program was replaced")
	s.signal(syscall.SIGKILL)
	s.advanceUntil("the installed version is tried",
		func() bool { return strings.Contains(s.lastFault(), "exit status 7") && s.status().Faults[0].Ended })
}

func TestRestartAndUpgradeForgetEarlierCrashes(t *testing.T) {
	for name, renew := range map[string]func(s *testHost){
		"another version": func(s *testHost) {
			s.install("second")
			require.NoError(t, s.Upgrade(t.Context(), "hostile"))
		},
		"a restart": func(s *testHost) {
			s.Stop("hostile")
			s.advanceUntil("it is stopped", s.inState(Stopped))
			s.Start("hostile")
			s.advanceUntil("it is started", s.inState(Ready))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestHost(t)
			s.ready("good")
			for range maxFaults - 1 {
				s.advanceUntil("it is started again", s.replaced(s.signal(syscall.SIGKILL)))
			}
			renew(s)
			again := s.replaced(s.signal(syscall.SIGKILL))
			s.advanceUntil("it is started again, or in quarantine",
				func() bool { return again() || s.inState(Quarantined)() })
			require.Equal(t, Ready, s.status().State)
		})
	}
}
