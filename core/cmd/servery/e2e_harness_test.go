package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

const waitTimeout = 60 * time.Second

// environment contains the variables of a process, in addition to those that every process needs.
type environment map[string]string

func (e environment) with(pairs ...string) environment {
	all := maps.Clone(e)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func (e environment) list() []string {
	var list []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, set := os.LookupEnv(name); set {
			list = append(list, name+"="+value)
		}
	}
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// onDatabase returns the environment of hubs that share a database: without throttles, with short leases, and with
// deliveries to local addresses.
func onDatabase(url string) environment {
	return environment{
		"SERVERY_DATABASE_URL": url, "SERVERY_SECRET_KEY": hubtest.SecretKey,
		"SERVERY_LISTEN": "127.0.0.1:0", "SERVERY_WEBHOOK_ALLOW": "127.0.0.0/8",
		"SERVERY_LIMIT_STORES": "off", "SERVERY_LIMIT_WEBHOOKS": "off", "SERVERY_LIMIT_READ": "off",
		"SERVERY_DELIVERY_LEASE": "10s", "SERVERY_JOB_LEASE": "2s",
	}
}

// outputLog keeps the last lines of a process and searches for a pattern.
type outputLog struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	pattern *regexp.Regexp
	found   chan string // receives the match of pattern once
}

const maxLines = 40

func newOutputLog(pattern *regexp.Regexp) *outputLog {
	return &outputLog{pattern: pattern, found: make(chan string, 1)}
}

func (w *outputLog) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partial = append(w.partial, p...)
	for {
		line, rest, complete := bytes.Cut(w.partial, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		w.partial = rest
		w.lines = append(w.lines, string(line))
		if len(w.lines) > maxLines {
			w.lines = w.lines[1:]
		}
		if w.pattern == nil {
			continue
		}
		if match := w.pattern.FindSubmatch(line); match != nil {
			w.found <- string(match[1])
			w.pattern = nil
		}
	}
}

func (w *outputLog) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n") + string(w.partial)
}

// hubProcess is a running `servery serve`.
type hubProcess struct {
	url            string
	cmd            *exec.Cmd
	stdout, stderr *outputLog
	exited         chan struct{}
}

var (
	servingLine = regexp.MustCompile(`"msg":"serving","address":"([^"]+)"`)
	bannerLine  = regexp.MustCompile(`^\s+API\s+http://(\S+)`)
)

// startHub starts a hub and waits until it is ready.
func startHub(t *testing.T, env environment, flags ...string) *hubProcess {
	t.Helper()
	h := beginHub(t, env, flags...)
	t.Cleanup(h.kill)
	h.logFailure(t)
	h.awaitReady(t)
	return h
}

// beginHub starts a hub that the test does not stop.
func beginHub(t *testing.T, env environment, flags ...string) *hubProcess {
	t.Helper()
	h := &hubProcess{
		cmd:    exec.Command(builtBinary(t), append([]string{"serve"}, flags...)...),
		stdout: newOutputLog(bannerLine), stderr: newOutputLog(servingLine), exited: make(chan struct{}),
	}
	h.cmd.Env, h.cmd.Stdout, h.cmd.Stderr, h.cmd.WaitDelay = env.list(), h.stdout, h.stderr, 5*time.Second
	require.NoError(t, h.cmd.Start())
	go func() {
		defer close(h.exited)
		_ = h.cmd.Wait()
	}()
	return h
}

// logFailure logs the last output of the hub if the test fails.
func (h *hubProcess) logFailure(t *testing.T) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hub %d (%s) wrote last:\n%s\n%s", h.cmd.Process.Pid, h.url, h.stdout, h.stderr)
		}
	})
}

func (h *hubProcess) awaitReady(t *testing.T) {
	t.Helper()
	var address string
	select {
	case address = <-h.stderr.found:
	case address = <-h.stdout.found:
	case <-h.exited:
		require.FailNow(t, "the hub ended instead of serving", "%s\n%s", h.stdout, h.stderr)
	case <-time.After(waitTimeout):
		require.FailNow(t, "the hub does not serve")
	}
	h.url = "http://" + address
	eventually(t, waitTimeout, func() error {
		response, err := http.Get(h.url + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz answered %d", response.StatusCode)
		}
		return nil
	})
}

func (h *hubProcess) running() bool {
	select {
	case <-h.exited:
		return false
	default:
		return true
	}
}

// kill kills the hub without a shutdown.
func (h *hubProcess) kill() {
	_ = h.cmd.Process.Kill()
	<-h.exited
}

// terminate sends SIGTERM and returns the exit status.
func (h *hubProcess) terminate(t *testing.T) int { return h.end(t, syscall.SIGTERM) }

func (h *hubProcess) end(t *testing.T, by os.Signal) int {
	t.Helper()
	require.NoError(t, h.cmd.Process.Signal(by))
	select {
	case <-h.exited:
	case <-time.After(waitTimeout):
		require.FailNow(t, "the hub does not stop")
	}
	return h.cmd.ProcessState.ExitCode()
}

// eventually waits until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	require.NoError(t, hubtest.Await(within, check), "what was waited for did not happen within %v", within)
}

// commandResult is the result of a command.
type commandResult struct {
	status         int
	stdout, stderr string
}

// servery runs a command of the program.
func servery(t *testing.T, env environment, args ...string) commandResult {
	t.Helper()
	binary := builtBinary(t)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env.list(), &stdout, &stderr, 5*time.Second
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return commandResult{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// serveryJSON runs a command that must succeed and decodes its output.
func serveryJSON(t *testing.T, env environment, into any, args ...string) {
	t.Helper()
	e := servery(t, env, append(args, "--json")...)
	require.Zero(t, e.status, "%v: %s", args, e.stderr)
	require.NoError(t, json.Unmarshal([]byte(e.stdout), into), e.stdout)
}

// apiClient is a business with an API key.
type apiClient struct {
	business       int64
	callbackSecret string
	keyID          int64
	authorization  string
}

func newAPIClient(t *testing.T, env environment) apiClient {
	t.Helper()
	return newAPIClientIn(t, env, "US")
}

func newAPIClientIn(t *testing.T, env environment, country string) apiClient {
	t.Helper()
	var created struct {
		ID             int64  `json:"id"`
		CallbackSecret string `json:"callback_secret"`
	}
	serveryJSON(t, env, &created, "business", "create", "--name", "Test Kitchen", "--country", country,
		"--timezone", "America/New_York", "--currency", "USD")
	require.Positive(t, created.ID)
	who := newKey(t, env, created.ID, "pos")
	who.callbackSecret = created.CallbackSecret
	return who
}

func newKey(t *testing.T, env environment, business int64, scope string) apiClient {
	t.Helper()
	var key struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
		APIKey   string `json:"api_key"`
	}
	serveryJSON(t, env, &key, "key", "create", "--business", strconv.FormatInt(business, 10), "--username", "till",
		"--scope", scope)
	require.Equal(t, "till", key.Username)
	require.NotEmpty(t, key.APIKey)
	return apiClient{business: business, keyID: key.ID, authorization: "apikey till:" + key.APIKey}
}

const (
	storesPath   = "/external/api/v1/stores/"
	webhooksPath = "/external/api/v1/webhooks/"
)

// subscribe creates a webhook for store callbacks and returns its id and signing secret.
func subscribe(t *testing.T, hub string, who apiClient, url string) (int64, string) {
	t.Helper()
	response := hubtest.Call(t, "POST", hub+webhooksPath, who.authorization,
		map[string]any{"event_type": "store_creation", "url": url, "retrial_interval_units": "seconds"})
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
	created := response.Object(t)
	return int64(created["webhook_id"].(float64)), created["secret"].(string)
}
