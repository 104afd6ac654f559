package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// hub is a replica, in one process after another.
type hub struct {
	t       *testing.T
	name    string
	address string // host:port, the same at every start
	program string
	env     environment
	clock   string // by how much its own is wrong
	log     string
	stderr  string // the file of what it writes there

	process *exec.Cmd
	exited  chan struct{}
	began   time.Time
	ready   atomic.Bool     // as the balancer sees it
	starts  []time.Duration // how long each took to become ready
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", hubtest.Port(t))
}

func newHub(t *testing.T, dir, name, program, roles string, env environment) *hub {
	t.Helper()
	own := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(own, 0o755))
	h := &hub{t: t, name: name, address: freeAddress(t), program: program, log: filepath.Join(own, "log"),
		stderr: filepath.Join(own, "stderr")}
	h.env = env.with("SERVERY_LISTEN="+h.address, "SERVERY_ROLES="+roles, "SERVERY_DATA_DIR="+own, "TMPDIR="+own)
	t.Cleanup(h.kill)
	return h
}

// start begins a process; settings come after those that every one has.
func (h *hub) start(settings ...string) {
	h.t.Helper()
	h.process, h.exited = exec.Command(h.program, "serve"), make(chan struct{})
	h.process.Env = h.env.with("SERVERY_LOG_FILE="+h.log, "SERVERY_CHAOS_SKEW="+h.clock).with(settings...).list()
	stderr, err := os.OpenFile(h.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(h.t, err)
	defer stderr.Close()
	h.process.Stderr = stderr
	h.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.began = time.Now()
	require.NoError(h.t, h.process.Start())
	go func(process *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = process.Wait()
	}(h.process, h.exited)
}

// awaitReady waits until the present process answers that it is ready.
func (h *hub) awaitReady() {
	h.t.Helper()
	eventually(h.t, waitTimeout, func() error {
		if !h.running() {
			require.FailNow(h.t, h.name+" ended instead of serving", "%s\n%s", lastErrors(h.stderr), lastErrors(h.log))
		}
		return h.probe()
	})
	h.starts = append(h.starts, time.Since(h.began))
}

var probeClient = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (h *hub) probe() error {
	answer, err := probeClient.Get("http://" + h.address + "/readyz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: readyz answered %d", h.name, answer.StatusCode)
	}
	return nil
}

func (h *hub) running() bool {
	select {
	case <-h.exited:
		return false
	default:
		return true
	}
}

func (h *hub) kill() {
	if h.process != nil {
		_ = h.process.Process.Kill()
		<-h.exited
	}
}

// terminate asks the hub to stop and waits for it.
func (h *hub) terminate() error {
	_ = h.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-h.exited:
	case <-time.After(waitTimeout):
		return fmt.Errorf("%s does not stop", h.name)
	}
	if status := h.process.ProcessState.ExitCode(); status != 0 {
		return fmt.Errorf("%s: exit status %d after SIGTERM", h.name, status)
	}
	return nil
}

// plugins are the processes of its plugins, each below its shims.
func (h *hub) plugins() map[string]int {
	found := map[string]int{}
	for below := hubtest.ChildrenOf(h.process.Process.Pid); len(below) > 0; below = below[1:] {
		named, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", below[0]))
		program, _, _ := strings.Cut(string(named), "\x00")
		found[filepath.Base(program)] = below[0]
		below = append(below, hubtest.ChildrenOf(below[0])...)
	}
	return found
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// goroutines is how many the hub has.
func (h *hub) goroutines() (int, error) {
	answer, err := probeClient.Get("http://" + h.address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	match := goroutines.FindSubmatch(body)
	if err != nil || match == nil {
		return 0, fmt.Errorf("%s tells no goroutines: %w", h.name, err)
	}
	return strconv.Atoi(string(match[1]))
}

// lastErrors is what a hub complained of last.
func lastErrors(file string) string {
	content, _ := os.ReadFile(file)
	lines := slices.DeleteFunc(strings.Split(string(content), "\n"),
		func(line string) bool { return strings.Contains(line, `"level":"INFO"`) })
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// newBalancer is the way to the hubs, one after the other, first those that are ready.
func newBalancer(hubs []*hub) func() (net.Conn, error) {
	var turn atomic.Int64
	return func() (connection net.Conn, err error) {
		first := int(turn.Add(1))
		for _, ready := range []bool{true, false} {
			for n := range hubs {
				h := hubs[(first+n)%len(hubs)]
				if h.ready.Load() != ready {
					continue
				}
				if connection, err = dialTo("tcp", h.address)(); err == nil {
					return connection, nil
				}
			}
		}
		return nil, err
	}
}

// watchReadiness keeps what the balancer knows of the hubs, until done is closed.
func watchReadiness(h *hub, done chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		h.ready.Store(h.probe() == nil)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}
