package hubtest

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// HubEnvironment returns the environment of hubs that share a database, without the named rate limits. They may deliver
// to local addresses.
func HubEnvironment(database string, unlimited ...string) Environment {
	env := Environment{"SERVERY_DATABASE_URL": database, "SERVERY_SECRET_KEY": SecretKey,
		"SERVERY_LISTEN": "127.0.0.1:0", "SERVERY_WEBHOOK_ALLOW": "127.0.0.0/8"}
	for _, limit := range unlimited {
		env["SERVERY_LIMIT_"+limit] = "off"
	}
	return env
}

// Hub is a process of `servery serve`.
type Hub struct {
	*Process
	URL string // without a path; known once the hub is ready if the system chooses its port
}

// NewHub prepares a hub.
func NewHub(program string, env Environment, flags ...string) *Hub {
	h := &Hub{Process: NewProcess(program, env, append([]string{"serve"}, flags...)...)}
	if address := env["SERVERY_LISTEN"]; address != "" && !strings.HasSuffix(address, ":0") {
		h.URL = "http://" + address
	}
	return h
}

// StartHub starts a hub for this test, and waits until it is ready.
func StartHub(t testing.TB, program string, env Environment, flags ...string) *Hub {
	t.Helper()
	h := NewHub(program, env, flags...)
	h.Start(t)
	h.LogFailure(t)
	h.AwaitReady(t)
	return h
}

// LogFailure logs the last output of the hub if the test fails.
func (h *Hub) LogFailure(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hub %d (%s) wrote last:\n%s\n%s", h.PID(), h.URL, h.Out, h.Err)
		}
	})
}

// servingAddress matches the host and port of a hub, in its log and in its banner.
var servingAddress = regexp.MustCompile(`(?m)(?:"msg":"serving","address":"|^\s+API\s+http://)([^"\s]+)`)

// AwaitReady waits until the hub is ready.
func (h *Hub) AwaitReady(t testing.TB) {
	t.Helper()
	if h.URL == "" {
		h.URL = "http://" + h.AwaitOutput(t, servingAddress)
	}
	require.NoError(t, Await(waitTimeout, func() error {
		h.requireRunning(t)
		return Ready(readiness, h.URL)
	}))
}

// readiness keeps its connection, because many connections would be work for the hub after its start.
var readiness = &http.Client{Timeout: time.Second}

// Ready returns why the hub at a URL is not ready, or nil.
func Ready(client *http.Client, url string) error {
	response, err := client.Get(url + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: readyz returned %d", url, response.StatusCode)
	}
	return nil
}

// Terminate stops the hub gracefully, and returns its exit status.
func (h *Hub) Terminate(t testing.TB) int {
	t.Helper()
	return h.Stop(t, syscall.SIGTERM)
}
