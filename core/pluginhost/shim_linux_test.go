package pluginhost

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost/shim"
	"github.com/servery-hub/servery/plugins/sdk"
)

// inBothModes runs a test without namespaces, and with them if the system allows that.
func inBothModes(t *testing.T, test func(t *testing.T, s *testHost)) {
	t.Run("plain", func(t *testing.T) { test(t, newTestHost(t)) })
	t.Run("isolated", func(t *testing.T) {
		s := newIsolatedHost(t)
		if why := s.Isolation(); why != "" {
			t.Skipf("no namespaces here: %s", why)
		}
		test(t, s)
	})
}

// descendants returns the processes of the plugin and its children, with their ids outside the namespace.
func (s *testHost) descendants() []int {
	k := s.supervisor("hostile")
	k.mu.Lock()
	defer k.mu.Unlock()
	return shim.Descendants(k.current.process.cmd.Process.Pid)
}

// isRunning reports whether a process runs and is not a zombie.
func isRunning(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func anyRunning(pids []int) bool { return slices.ContainsFunc(pids, isRunning) }

func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(text)
}

func TestEscapedChildrenEndWithTheirPlugin(t *testing.T) {
	for _, child := range []string{"child", "child-elsewhere", "child-without-environment", "child-without-trace"} {
		t.Run(child, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, s *testHost) {
				s.ready("leaves-a-child")
				_, err := s.check(t.Context(), child, "")
				require.NoError(t, err)
				var below []int
				s.waitUntil("two processes sleep: one is the plugin's, one is nobody's", func() bool {
					below = s.descendants()
					asleep := slices.DeleteFunc(slices.Clone(below),
						func(pid int) bool { return !strings.Contains(commandOf(pid), "/bin/sleep\x00") })
					return len(asleep) == 2
				})
				s.Stop("hostile")
				s.advanceUntil("the plugin is stopped", s.inState(Stopped))
				require.False(t, anyRunning(below))
			})
		})
	}
}

func TestEscapedChildrenEndWithAKilledPlugin(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *testHost) {
		s.ready("leaves-a-child")
		below := s.descendants()
		killed := s.signal(syscall.SIGKILL)
		s.waitUntil("its end is known", func() bool { return s.lastFault() != "" })
		s.advanceUntil("another serves", s.replaced(killed))
		require.False(t, anyRunning(below))
		require.Contains(t, s.lastFault(), "its process exited (signal: killed")
	})
}

func TestMemoryOfEscapedChildrenCounts(t *testing.T) {
	for _, child := range []string{"child-eats", "disguised-child-eats"} {
		t.Run(child, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, s *testHost) {
				s.ready("good")
				_, err := s.check(t.Context(), child, "")
				require.NoError(t, err)
				below := s.descendants()
				s.advanceUntil("the plugin is ended", func() bool { return strings.Contains(s.lastFault(), "it used") })
				require.Contains(t, s.lastFault(), "MB of memory, and its manifest allows 128")
				s.waitUntil("its child has ended", func() bool { return !anyRunning(below) })
			})
		})
	}
}

func TestTooManyProcessesEndTheirPlugin(t *testing.T) {
	for _, kind := range []string{"start-processes", "start-threads"} {
		t.Run(kind, func(t *testing.T) {
			inBothModes(t, func(t *testing.T, s *testHost) {
				s.ready("good")
				first := s.status().PID
				dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", first))
				require.NoError(t, err)
				_ = s.checkAsync(kind, "")
				s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
				require.Contains(t, s.lastFault(), "its process exited (it had more than 256 processes and threads")
				s.Stop("hostile")
				s.advanceUntil("the plugin is stopped", s.inState(Stopped))
				require.False(t, isRunning(first))
				for _, pid := range shim.Processes() {
					require.False(t, isFrom(fmt.Sprintf("/proc/%d", pid), dir), commandOf(pid))
				}
			})
		})
	}
}

func TestNamespaceBoundsProcessesOfOrdinaryUsers(t *testing.T) {
	if !shim.CountsTasksByNamespace() {
		t.Skip("the kernel counts the processes of a user in all namespaces")
	}
	s := newIsolatedHost(t)
	if why := s.Isolation(); why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	uid := testUsers()[len(testUsers())-1]
	temp := s.makeReadable(uid, "starts-many")
	hub, plugin := s.startHub(uid, temp)
	parent := shim.Descendants(hub.Process.Pid)[0]
	require.NoError(t, syscall.Kill(parent, syscall.SIGSTOP)) // it counts nothing
	t.Cleanup(func() { _ = syscall.Kill(parent, syscall.SIGCONT) })
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", plugin))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "start"), nil, 0o644))
	var started []byte
	s.waitUntil("it has started what it can", func() bool {
		started, err = os.ReadFile(filepath.Join(dir, "started"))
		return err == nil
	})
	n, err := strconv.Atoi(string(started))
	require.NoError(t, err)
	require.InDelta(t, shim.MaxTasks+shim.TasksOfShim/2, n, shim.TasksOfShim/2)
	require.NoError(t, syscall.Kill(parent, syscall.SIGCONT))
	s.waitUntil("the plugin has ended", func() bool { return !isRunning(plugin) })
}

func TestPluginsOfOrdinaryUsersEndFirstWithoutMemory(t *testing.T) {
	uid := testUsers()[len(testUsers())-1]
	for _, mode := range [][]string{{"plain"}, {}} {
		s := newIsolatedHost(t)
		_, plugin := s.startHub(uid, s.makeReadable(uid, "good"), mode...)
		score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", plugin))
		require.NoError(t, err)
		require.Equal(t, shim.FirstToEnd+"\n", string(score))
	}
}

func TestPluginsInheritTheirLimits(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *testHost) {
		s.ready("good")
		limits, err := s.check(t.Context(), "read", "/proc/self/limits")
		require.NoError(t, err)
		parent, err := strconv.Atoi(shim.Stat(s.status().PID)[1])
		require.NoError(t, err)
		inherited, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", parent))
		require.NoError(t, err)
		require.Equal(t, string(inherited), limits, "no moment without them")
		for name, most := range map[string]int{"data size": 128<<20 + dataHeadroom, "open files": shim.MaxOpenFiles,
			"file size": shim.MaxFileSize, "core file size": 0} {
			require.Regexp(t, fmt.Sprintf(`Max %s +%d +%[2]d `, name, most), limits)
		}
		first, err := s.check(t.Context(), "read", "/proc/self/oom_score_adj")
		require.NoError(t, err)
		require.Equal(t, shim.FirstToEnd+"\n", first)
	})
}

func TestPluginsGetNoMemoryOutsideOfProcesses(t *testing.T) {
	inBothModes(t, func(t *testing.T, s *testHost) {
		s.ready("good")
		message, err := s.check(t.Context(), "hidden-memory", "")
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("function not implemented, ", 3)+"function not implemented", message)
		if s.Isolation() == "" {
			_, err = s.check(t.Context(), "share", "")
			require.ErrorContains(t, err, "no such device")
		}
	})
}

func TestSharedDirectoryOfAnIsolatedPluginIsBounded(t *testing.T) {
	temp, err := os.MkdirTemp("/tmp", "")
	require.NoError(t, err)
	s := newTestHostWith(t, Config{TempDir: temp})
	if why := s.Isolation(); why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	s.ready("good")
	message, err := s.check(t.Context(), "fill-shared", "")
	require.NoError(t, err)
	require.Equal(t, "write /dev/shm/full: no space left on device", message)
}

func TestKilledHubLeavesNoChildProcess(t *testing.T) {
	for _, uid := range testUsers() {
		for _, mode := range [][]string{{"plain"}, {}} {
			t.Run(fmt.Sprintf("uid %d %v", uid, mode), func(t *testing.T) {
				s := newIsolatedHost(t)
				temp := s.makeReadable(uid, "leaves-a-child")
				hub, plugin := s.startHub(uid, temp, mode...)
				below := shim.Descendants(hub.Process.Pid)
				require.Contains(t, below, plugin)
				t.Log("a shim, where there are namespaces another, a plugin and its child:", len(below))
				require.GreaterOrEqual(t, len(below), 3)
				require.NoError(t, syscall.Kill(plugin, syscall.SIGSTOP)) // it cannot react to its host's end
				require.NoError(t, hub.Process.Kill())
				_ = hub.Wait()
				s.waitUntil("all have ended", func() bool { return !anyRunning(below) })
			})
		}
	}
}

// testUsers returns root and an ordinary user if root runs the tests, or else the current user.
func testUsers() []int {
	if os.Geteuid() == 0 {
		return []int{0, 65534}
	}
	return []int{os.Geteuid()}
}

// startHub starts a hub as a user. It returns it with the process id of its ready plugin.
func (s *testHost) startHub(uid int, temp string, mode ...string) (hub *exec.Cmd, plugin int) {
	hub = exec.Command(filepath.Join(programDir, "hub"), append([]string{s.dir, temp}, mode...)...)
	hub.Env, hub.Dir, hub.Stderr = []string{"TMPDIR=" + temp}, "/", os.Stderr
	if uid != os.Geteuid() {
		hub.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	out, err := hub.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, hub.Start())
	s.t.Cleanup(func() {
		_ = hub.Process.Kill()
		_ = hub.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(s.t, err)
	plugin, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(s.t, err)
	return hub, plugin
}

// makeReadable installs a mode for a user, and returns a temporary directory of that user.
func (s *testHost) makeReadable(uid int, mode string) (temp string) {
	temp, err := os.MkdirTemp("", "")
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = os.RemoveAll(temp) })
	require.NoError(s.t, os.Chown(temp, uid, -1))
	s.dir = filepath.Join(temp, "plugins")
	require.NoError(s.t, os.Mkdir(s.dir, 0o755))
	s.install(mode)
	require.NoError(s.t, filepath.Walk(s.dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, -1)
	}))
	return temp
}

func TestIsolatedPluginSeesNoSecretsOrNetwork(t *testing.T) {
	data := t.TempDir()
	secret := filepath.Join(data, "secret.key")
	require.NoError(t, os.WriteFile(secret, []byte("the key"), 0o600))
	s := newTestHostWith(t, Config{Hidden: []string{data, filepath.Join(data, "no such directory")}})
	if why := s.Isolation(); why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	s.ready("good")
	read := func(path string) string {
		text, err := s.check(t.Context(), "read", path)
		require.NoError(t, err)
		return text
	}
	require.Contains(t, read(secret), "no such file")
	require.Contains(t, read(filepath.Join(s.runtimeDir.dir, lockFileName)), "no such file",
		"the directories of other plugins lie beside it")
	require.Contains(t, read(filepath.Join(s.dir, "hostile", sdk.ManifestName)), "no such file")
	require.Contains(t, read(s.dir), "is a directory")
	for field, want := range map[string]string{"CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"NoNewPrivs": "1"} {
		require.Regexp(t, field+`:\s+`+want, read("/proc/self/status"))
	}
	seen, err := s.check(t.Context(), "look", "")
	require.NoError(t, err)
	require.Equal(t, "2 processes, 0 interfaces", seen, "the shim and the plugin")
}

func TestUnisolatedPluginHasNoNewPrivileges(t *testing.T) {
	s := newTestHost(t)
	s.ready("good")
	text, err := s.check(t.Context(), "read", "/proc/self/status")
	require.NoError(t, err)
	require.Regexp(t, `NoNewPrivs:\s+1`, text)
	require.Equal(t, "isolation is disabled", s.Isolation())
}

func TestPluginInheritsNoHubVariables(t *testing.T) {
	t.Setenv("SERVERY_SECRET_KEY", "secret")
	t.Setenv("SERVERY_PLUGIN_DIR", "/nowhere")
	t.Setenv("PGPASSWORD", "secret")
	inBothModes(t, func(t *testing.T, s *testHost) {
		s.ready("good")
		for _, pid := range append(s.descendants(), s.supervisor("hostile").current.process.cmd.Process.Pid) {
			given, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			require.NoError(t, err)
			for variable := range strings.SplitSeq(strings.TrimRight(string(given), "\x00"), "\x00") {
				name, _, _ := strings.Cut(variable, "=")
				protocol := strings.HasPrefix(name, "PLUGIN_") || name == "SERVERY_PLUGIN" ||
					name == "SERVERY_PLUGIN_STDIN_HELD" || name == "GOMEMLIMIT" ||
					variable == "TMPDIR="+s.supervisor("hostile").current.dir
				require.True(t, protocol, name)
			}
		}
	})
}

func TestSuspendedShimDoesNotKeepItsPluginAlive(t *testing.T) {
	s := newTestHost(t)
	s.ready("leaves-a-child")
	below := s.descendants()
	parent := s.supervisor("hostile").current.process.cmd.Process.Pid
	require.NoError(t, syscall.Kill(parent, syscall.SIGSTOP)) // as a plugin of the same user can
	s.Stop("hostile")
	s.advanceUntil("the plugin is stopped", s.inState(Stopped))
	require.False(t, anyRunning(append(below, parent)))
}

func TestHiddenDirectoryMayContainTheRuntimeDirectory(t *testing.T) {
	outer := tempDir(t, "")
	t.Cleanup(func() { _ = os.RemoveAll(outer) })
	temp := filepath.Join(outer, "t")
	require.NoError(t, os.Mkdir(temp, 0o700))
	s := newTestHostWith(t, Config{TempDir: temp, Hidden: []string{outer}})
	if why := s.Isolation(); why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	s.ready("good")
	version, err := s.check(t.Context(), "version", "")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", version)
}
