package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// relayedStatus is a rider status that was relayed to aggregator B.
type relayedStatus struct {
	order, state, key string
	accepted          bool
}

// aggregators is the simulator's process behind a proxy that records the relayed calls.
type aggregators struct {
	*hubtest.Process        // of the simulator
	url              string // for the hubs
	simulatorURL     string // of the simulator itself
	program          string
	env              hubtest.Environment

	mu      sync.Mutex
	relayed []relayedStatus
}

// newAggregators starts the proxy; start starts the simulator behind it.
func newAggregators(t *testing.T) *aggregators {
	t.Helper()
	a := &aggregators{simulatorURL: "http://" + freeAddress(t)}
	target, err := url.Parse(a.simulatorURL)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: a.record,
		// the fault aborted it
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// start starts a process of the simulator, without the state of an earlier one.
func (a *aggregators) start(t *testing.T) {
	t.Helper()
	a.Process = hubtest.NewProcess(a.program, a.env, "simulator", "--listen",
		strings.TrimPrefix(a.simulatorURL, "http://"))
	a.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	a.Start(t)
	eventually(t, waitTimeout, func() error { return a.callAdmin("GET", "", nil) })
}

// record stores the rider statuses of a response.
func (a *aggregators) record(response *http.Response) error {
	_, order, found := strings.Cut(response.Request.URL.Path, "/aggregator-b/api/orders/")
	order, found2 := strings.CutSuffix(order, "/delivery-state")
	if !found || !found2 {
		return nil
	}
	sent, err := response.Request.GetBody()
	if err != nil {
		return err
	}
	var received struct{ State string }
	if err := json.NewDecoder(sent).Decode(&received); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.relayed = append(a.relayed,
		relayedStatus{order, received.State, response.Request.Header.Get("X-Request-Id"), response.StatusCode < 300})
	return nil
}

// callAdmin calls the simulator's admin API.
func (a *aggregators) callAdmin(method, path string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, a.simulatorURL+"/admin/"+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the simulator answered %d", response.StatusCode)
	}
	return nil
}
