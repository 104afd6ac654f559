package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
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

// hub is a replica, which may be restarted.
type hub struct {
	*hubtest.Hub // its current process
	t            *testing.T
	name         string
	address      string // host:port, the same for every process
	program      string
	env          hubtest.Environment
	clock        string // the error of its clock
	log, stderr  string // files

	ready  atomic.Bool     // the last result of the balancer's probe
	starts []time.Duration // time from start to ready
}

// freeAddress returns a local address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", hubtest.Port(t))
}

func newHub(t *testing.T, runDir, program, roles string, env hubtest.Environment) *hub {
	t.Helper()
	require.NoError(t, os.MkdirAll(runDir, 0o755))
	h := &hub{t: t, name: filepath.Base(runDir), address: freeAddress(t), program: program,
		log: filepath.Join(runDir, "log"), stderr: filepath.Join(runDir, "stderr")}
	h.env = env.With("SERVERY_LISTEN", h.address, "SERVERY_ROLES", roles, "SERVERY_DATA_DIR", runDir,
		"SERVERY_LOG_FILE", h.log, "TMPDIR", runDir)
	return h
}

// start starts a process, and waits until it is ready. The settings override the common ones.
func (h *hub) start(settings ...string) {
	h.t.Helper()
	h.Hub = hubtest.NewHub(h.program, h.env.With("SERVERY_CHAOS_SKEW", h.clock).With(settings...))
	stderr, err := os.OpenFile(h.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(h.t, err)
	defer stderr.Close()
	h.Cmd.Stderr, h.Cmd.SysProcAttr = stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.Start(h.t)
	h.AwaitReady(h.t)
	h.starts = append(h.starts, time.Since(h.Began))
}

var probeClient = &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// terminate stops the process gracefully.
func (h *hub) terminate() {
	if status := h.Terminate(h.t); status != 0 {
		h.t.Errorf("%s: exit status %d after SIGTERM", h.name, status)
	}
}

// plugins returns the pids of the hub's plugins, below their shims.
func (h *hub) plugins() map[string]int {
	found := map[string]int{}
	for below := hubtest.ChildrenOf(h.PID()); len(below) > 0; below = below[1:] {
		named, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", below[0]))
		program, _, _ := strings.Cut(string(named), "\x00")
		found[filepath.Base(program)] = below[0]
		below = append(below, hubtest.ChildrenOf(below[0])...)
	}
	return found
}

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// goroutines returns the number of goroutines of the hub.
func (h *hub) goroutines() (int, error) {
	response, err := probeClient.Get(h.URL + "/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	match := goroutines.FindSubmatch(body)
	if err != nil || match == nil {
		return 0, fmt.Errorf("the goroutines of %s: %w", h.name, err)
	}
	return strconv.Atoi(string(match[1]))
}

// lastErrors returns the last errors in a log.
func lastErrors(file string) string {
	content, _ := os.ReadFile(file)
	lines := slices.DeleteFunc(strings.Split(string(content), "\n"),
		func(line string) bool { return strings.Contains(line, `"level":"INFO"`) })
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

// newBalancer returns a function that connects to the hubs round robin, and prefers those that are ready.
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

// watchReadiness probes a hub for the balancer until done is closed.
func watchReadiness(h *hub, done chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		h.ready.Store(hubtest.Ready(probeClient, "http://"+h.address) == nil)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}
