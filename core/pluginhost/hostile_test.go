package pluginhost

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/servery-hub/servery/core"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestLogLineWithNonStringMessageIsKept(t *testing.T) {
	s := newTestHost(t)
	s.ready("logs-a-number")
	s.waitUntil("the line is in the log", func() bool {
		return strings.Contains(strings.Join(s.Logs("hostile"), "\n"), `"@message":7`)
	})
	_, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
}

func TestSuspendedPluginIsKilledAndItsCallRetried(t *testing.T) {
	s := newIsolatedHost(t)
	s.ready("good")
	first := s.status().PID
	stopped := s.checkAsync("stop", "")
	s.waitUntil("the call is under way", func() bool { return s.status().InFlight == 1 })
	s.advanceUntil("the plugin is killed", s.replaced(first))
	require.Contains(t, s.lastFault(),
		"failed 3 consecutive health checks: it did not report its health in time, and its process is stopped")
	// the retry suspends the next process too, and there is no second retry
	var got asyncResult
	s.advanceUntil("the call has failed", received(stopped, &got))
	require.True(t, IsSetAside(got.err))
	s.advanceUntil("it is ready again", s.inState(Ready))
}

func TestSuspendedPluginDoesNotBlockHostShutdown(t *testing.T) {
	s := newIsolatedHost(t)
	s.ready("good")
	s.signal(syscall.SIGSTOP)
}

func TestHostShutdownKillsAStartingPlugin(t *testing.T) {
	for _, mode := range []string{"mute", "stopped", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			s := newIsolatedHost(t)
			s.install(mode)
			s.Start("hostile")
			want := Starting
			if mode == "deaf" {
				want = Configuring
			}
			s.waitUntil("it is being started", s.inState(want))
		}) // and the host closes at once
	}
}

func TestUnresponsivePluginStartTimesOut(t *testing.T) {
	for _, mode := range []string{"mute", "stopped", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			s := newTestHost(t)
			s.install(mode)
			s.Start("hostile")
			want := Starting
			if mode == "deaf" {
				want = Configuring
			}
			s.waitUntil("it is being started", s.inState(want))
			s.clock.Advance(s.config.StartTimeout)
			s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
			require.Contains(t, s.lastFault(), "in time")
		})
	}
}

func TestPluginStartErrorsAreExplained(t *testing.T) {
	for mode, says := range map[string]string{
		"dies":         "it exited before it served (exit status 7, with the last log line: there is no disk)",
		"babbles":      "its first line must be a handshake (1|1|unix|SOCKET|grpc), not: hello",
		"babbles-long": "handshake (1|1|unix|SOCKET|grpc)",
		"elsewhere":    "it listens at tcp 127.0.0.1:9, outside its directory",
		"not-serving":  "it reports that it does not serve",
		"panics":       "with the log: panic: there is no table",
	} {
		t.Run(mode, func(t *testing.T) {
			s := newIsolatedHost(t)
			s.install(mode)
			s.Start("hostile")
			s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
			require.Contains(t, s.lastFault(), says)
		})
	}
}

func TestAPluginThatStopsServingIsReplaced(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	first := s.status().PID
	require.NoError(t, s.supervisor("hostile").current.client.Drain(t.Context()))
	s.advanceUntil("it is killed", s.replaced(first))
	require.Contains(t, s.lastFault(), "it reports that it does not serve")
}

func TestLongOutputDoesNotBlockAPlugin(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	for range 3 {
		message, err := s.check(t.Context(), "print", "")
		require.NoError(t, err)
		require.Equal(t, "printed", message)
	}
	s.waitUntil("all of it is in the log", func() bool {
		log := strings.Join(s.Logs("hostile"), "\n")
		return strings.Count(log, "bytes)") >= 9 && strings.Contains(log, "more")
	})
	for _, line := range s.Logs("hostile") {
		require.Less(t, len(line), maxLoggedLine+100)
	}
}

func TestCrashedCallIsRetriedOnTheNextProcess(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	call := s.checkAsync("crash-once", filepath.Join(t.TempDir(), "crashed"))
	var got asyncResult
	s.advanceUntil("the call is answered", received(call, &got))
	require.NoError(t, got.err)
	require.Contains(t, s.lastFault(), "its process exited (exit status 3")
}

func TestPanicFailsOnlyItsCall(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	first := s.status().PID
	_, err := s.check(t.Context(), "panic", "")
	require.ErrorContains(t, err, "the plugin panicked: a mistake")
	_, err = s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, first, s.status().PID)
}

func TestDigestIsVerifiedAtEveryStart(t *testing.T) {
	// go-plugin's SecureConfig keeps the state of its hash, and rejects the same file the second time
	s := newTestHost(t)
	s.ready("good")
	s.advanceUntil("the same file is started again", s.replaced(s.signal(syscall.SIGKILL)))

	s.install("good", func(m *sdk.Manifest) { m.Binaries[0].SHA256 = strings.Repeat("0", 64) })
	s.signal(syscall.SIGKILL)
	s.advanceUntil("it is refused", func() bool { return strings.Contains(s.lastFault(), "digest") })
	require.Contains(t, s.lastFault(), "its manifest says 000000")
}

func TestHostRunsItsVerifiedCopy(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(s.status().PID), "exe"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(program, s.runtimeDir.dir), "it runs from the host's own copy")
	info, err := os.Stat(s.runtimeDir.dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestDescriptionMustMatchTheManifest(t *testing.T) {
	for says, change := range map[string]func(*sdk.Manifest){
		"version: the manifest says": func(m *sdk.Manifest) { m.Version = "9.0.0" },
		"endpoints: the manifest says": func(m *sdk.Manifest) {
			m.Endpoints[0].Hosts =
				[]string{"other.example.com"}
		},
		"capabilities: the manifest says": func(m *sdk.Manifest) { m.Capabilities = []string{"menu_check"} },
		"secrets: the manifest says":      func(m *sdk.Manifest) { m.Secrets = nil },
	} {
		t.Run(says, func(t *testing.T) {
			s := newTestHost(t)
			s.install("good", change)
			s.Start("hostile")
			s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
			require.Contains(t, s.lastFault(), says)
		})
	}
}

func TestPluginWithoutManifestIsNotStarted(t *testing.T) {
	s := newTestHost(t)
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "hostile"), 0o700))
	s.Start("hostile")
	s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
	require.Contains(t, s.lastFault(), "it has no manifest")
}

func TestFindingOfAnUnrequestedItemIsRejected(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	_, err := s.check(t.Context(), "unknown-item", "")
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.Contains(t, s.lastFault(), `found fault with item "of-somebody-else", which it was not asked about`)
	require.Equal(t, Ready, s.status().State)
}

func TestFindingWithoutAMessageIsRejected(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	_, err := s.check(t.Context(), "finding-without-message", "")
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.Contains(t, s.lastFault(), `the finding of item "finding-without-message": needs a rule and a message`)
}

func TestFindingsAreBounded(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	_, err := s.check(t.Context(), "findings-without-end", "")
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.Contains(t, s.lastFault(), "findings are more than 16 MB")
	_, err = s.check(t.Context(), "version", "")
	require.NoError(t, err)
}

func TestFindingsOfOneMessageAreBounded(t *testing.T) {
	s := newTestHost(t)
	s.ready("sends-a-million-findings")
	_, err := s.check(t.Context(), "", "")
	require.Equal(t, core.Internal, core.CodeOf(err))
	require.ErrorContains(t, err, "plugin hostile returned an invalid result")
	require.Contains(t, s.lastFault(), "Menu.CheckItems: invalid response: the plugin's response: it has more than "+
		"200000 objects")
	require.Equal(t, FaultInvalid, s.status().Faults[0].Kind)
	require.Equal(t, Ready, s.status().State)
}

func TestPlanBeyondTheManifestIsRejected(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	plan := func(order string) (Decision, error) {
		return PlanRiderStatus.Do(t.Context(), s.Plugin("hostile"), Subject{Business: 1},
			&pb.RiderStatusRequest{Order: &pb.Order{PlatformOrderId: order}})
	}
	decision, err := plan("")
	require.NoError(t, err)
	require.Equal(t, "/riders", decision.GetPlan().GetPath())
	for order, says := range map[string]string{
		"other-endpoint": `endpoint "metadata" is not declared`,
		"other-host":     "must begin with a slash and have no host",
		"whole-address":  "must begin with a slash and have no host", "host-header": "header Host is set by the hub",
		"other-secret": `secret "of_the_hub" is not declared`, "nothing": "a decision is a plan, or a reason to skip",
	} {
		_, err := plan(order)
		require.Equal(t, core.Internal, core.CodeOf(err), order)
		require.ErrorContains(t, err, says)
		require.Contains(t, s.lastFault(), says)
	}
}

func TestEmptyTranslationIsRejected(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	_, err := s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1}, &sdk.InboundRequest{})
	require.ErrorContains(t, err, "neither that it is an order, or which it cancels, nor why it is ignored")
}

func TestInvalidOrderAmountIsAPluginFault(t *testing.T) {
	watch := &testWatch{}
	s := newTestHostWith(t, Config{NoIsolation: true, Watcher: watch})
	s.ready("good")
	_, err := s.Plugin("hostile").Translate(t.Context(), Subject{Business: 1}, &sdk.InboundRequest{Kind: "amounts"})
	require.Equal(t, core.Invalid, core.CodeOf(err), "the order is listed as rejected")
	require.ErrorContains(t, err, `items[0].price: "0x10" is no decimal number`)
	require.Contains(t, s.lastFault(), "items[0].price")
	watch.mu.Lock()
	defer watch.mu.Unlock()
	require.Equal(t, []string{"Orders.Translate", s.lastFault()}, watch.shown)
}

func TestRenamedPluginCopyIsNotInstalled(t *testing.T) {
	s := newTestHost(t)
	s.install("good")
	for _, name := range []string{"hostile.bak", "hostile-old", "My Plugin"} {
		require.NoError(t, os.CopyFS(filepath.Join(s.dir, name), os.DirFS(filepath.Join(s.dir, "hostile"))))
	}
	installed, err := Installed(s.dir)
	require.NoError(t, err)
	require.Equal(t, []string{"hostile"}, installed)
}

func TestPluginMemoryIsLimited(t *testing.T) {
	s := newIsolatedHost(t)
	s.ready("good")
	call := s.checkAsync("eat", "")
	var got asyncResult
	s.advanceUntil("the call has failed", received(call, &got))
	require.Error(t, got.err)
	require.NotEmpty(t, s.lastFault())
}

func TestKilledHostLeavesNoProcessOrSocket(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		s := newTestHost(t)
		s.install("good")
		temp, err := os.MkdirTemp("", "")
		require.NoError(t, err)
		hub := exec.Command(filepath.Join(programDir, "hub"), s.dir, temp)
		out, err := hub.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, hub.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		plugin, err := strconv.Atoi(strings.TrimSpace(line))
		require.NoError(t, err)
		require.Positive(t, plugin)
		if stopped { // it requested SIGTERM, which stays pending while it is suspended
			require.NoError(t, syscall.Kill(plugin, syscall.SIGSTOP))
		}
		require.NoError(t, hub.Process.Kill())
		require.Error(t, hub.Wait())
		gone := func() bool {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(plugin), "stat"))
			return err != nil || strings.Contains(string(text), ") Z ")
		}
		if !stopped {
			s.waitUntil("the plugin has ended", gone)
		}
		next, err := newRuntimeDir(temp) // the next hub cleans up
		require.NoError(t, err)
		s.waitUntil("the plugin has ended", gone)
		dirs, err := filepath.Glob(filepath.Join(temp, runtimeDirPrefix+"*"))
		require.NoError(t, err)
		require.Equal(t, []string{next.dir}, dirs)
		next.close()
		require.NoError(t, os.RemoveAll(temp))
	}
}

func TestRuntimeDirectoryOfALiveHostIsKept(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	next, err := newRuntimeDir(filepath.Dir(s.runtimeDir.dir))
	require.NoError(t, err)
	defer next.close()
	_, err = s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.DirExists(t, s.runtimeDir.dir)
}

func TestStackOfAnErrorIsBounded(t *testing.T) {
	var tracker replyTracker
	ctx := context.WithValue(t.Context(), trackerKey{}, &tracker)
	trailer := metadata.Pairs(sdk.StackTrailer, "goroutine 1:\nmain.f()\n"+strings.Repeat("\n", 8<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	replyHandler{}.HandleRPC(ctx, &stats.InTrailer{Trailer: trailer})
	runtime.ReadMemStats(&after)
	require.Equal(t, "main.f", *tracker.stack.Load())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}
