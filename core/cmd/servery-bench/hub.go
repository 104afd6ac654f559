package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// hub is the built hub, serving.
type hub struct {
	base    string // such as http://127.0.0.1:41234
	began   time.Time
	process *exec.Cmd
	wait    func() error // for the end of the process
	client  *http.Client
}

// startHub starts the built hub on the database, without rate limits, and waits until it is ready.
func (f *fixture) startHub(variables ...string) *hub {
	dir := must(os.MkdirTemp(f.scratch, "hub"))
	h := &hub{base: fmt.Sprint("http://127.0.0.1:", hubtest.Port(f)), began: time.Now(),
		process: exec.CommandContext(f.ctx, f.Hub, "serve"), client: &http.Client{Timeout: 30 * time.Second}}
	h.process.Env = append(f.environment(dir), "SERVERY_LISTEN="+h.host(), "SERVERY_WEBHOOK_ALLOW=127.0.0.0/8",
		"SERVERY_LOG_FILE="+filepath.Join(dir, "servery.log"))
	for _, limit := range []string{"STORES", "MENU", "WEBHOOKS", "READ", "RIDER", "LOCATION", "OPERATIONS",
		"ORDER_UPDATES", "CALLBACKS"} {
		h.process.Env = append(h.process.Env, "SERVERY_LIMIT_"+limit+"=off")
	}
	h.process.Env = append(h.process.Env, variables...)
	h.process.Stderr = os.Stderr
	h.process.Cancel = func() error { return h.process.Process.Signal(syscall.SIGTERM) }
	h.process.WaitDelay = 15 * time.Second
	err := h.process.Start()
	verify(err == nil, "starting the hub, which `make build` builds: %v", err)
	h.wait = sync.OnceValue(h.process.Wait)
	f.Cleanup(h.stop)
	f.until(20*time.Second, "the hub starts", func() bool {
		status, _, err := fasthttp.Get(nil, h.base+"/readyz")
		return err == nil && status == fasthttp.StatusOK
	})
	return h
}

// environment is that of the hub's program.
func (f *fixture) environment(dataDir string) []string {
	return append(withoutSettings(), "SERVERY_DATABASE_URL="+f.address, "SERVERY_SECRET_KEY="+hubtest.SecretKey,
		"SERVERY_DATA_DIR="+dataDir)
}

// withoutSettings is this process's environment without the hub's variables.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "SERVERY_") })
}

func (h *hub) host() string { return strings.TrimPrefix(h.base, "http://") }

// stop ends the hub gracefully, or by force after a while.
func (h *hub) stop() {
	h.client.CloseIdleConnections()
	force := time.AfterFunc(15*time.Second, func() { _ = h.process.Process.Kill() })
	defer force.Stop()
	_ = h.process.Process.Signal(syscall.SIGTERM)
	_ = h.wait()
}

// send makes a request, with a JSON body unless that is nil, and returns the body of the response.
func (f *fixture) send(path, authorization string, body []byte) []byte {
	response, content := f.do(f.request(path, authorization, body))
	verify(response.StatusCode == http.StatusOK, "%s: %s: %s", path, response.Status, content)
	return content
}

func (f *fixture) request(path, authorization string, body []byte) *http.Request {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request := must(http.NewRequestWithContext(f.ctx, method, f.hub.base+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return request
}

func (f *fixture) do(request *http.Request) (*http.Response, []byte) {
	response := must(f.hub.client.Do(request))
	defer response.Body.Close()
	return response, must(io.ReadAll(response.Body))
}

// connections is how many the load uses at once.
const connections = 64

// poster posts bodies as cheaply as possible, each goroutine over its own connection.
type poster struct {
	client        *fasthttp.HostClient
	uri           string
	authorization string
	server        int // its process, if known
}

func (r *run) newPoster(host, path, authorization string) *poster {
	p := &poster{client: &fasthttp.HostClient{Addr: host, MaxConns: connections, ReadTimeout: 20 * time.Second,
		WriteTimeout: 20 * time.Second}, uri: "http://" + host + path, authorization: authorization}
	r.Cleanup(p.client.CloseIdleConnections)
	return p
}

// post posts a body. It ends the measurement unless the response is 200.
func (p *poster) post(body []byte) { check(p.try(body)) }

// try posts a body. It fails unless the response is 200.
func (p *poster) try(body []byte) error { return p.send(fasthttp.MethodPost, "", body) }

// put puts a body at a path below that of the poster. It ends the measurement unless the response is 200.
func (p *poster) put(path string, body []byte) { check(p.send(fasthttp.MethodPut, path, body)) }

func (p *poster) send(method, path string, body []byte) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(p.uri + path)
	request.Header.SetMethod(method)
	request.Header.SetContentType("application/json")
	request.Header.Set("Authorization", p.authorization)
	request.SetBodyRaw(body)
	err := p.client.Do(request, response)
	if err == nil && response.StatusCode() != fasthttp.StatusOK {
		err = fmt.Errorf("%s%s: %d: %s", p.uri, path, response.StatusCode(), response.Body())
	}
	return err
}

// resident and peak are the hub's resident memory in megabytes, now and at most.
func (h *hub) resident() float64 { return float64(h.status().VmRSS) / (1 << 20) }
func (h *hub) peak() float64     { return float64(h.status().VmHWM) / (1 << 20) }

func (h *hub) status() procfs.ProcStatus {
	return must(must(procfs.NewProc(h.process.Process.Pid)).NewStatus())
}
