package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hubProcess is the built hub, serving.
type hubProcess struct {
	base    string // such as http://127.0.0.1:41234
	began   time.Time
	process *exec.Cmd
	ended   chan error
	client  *http.Client
}

// startHub runs the built hub on the database, without throttles and with further
// variables, and waits until it is ready. The hub ends with the context or with stop.
func startHub(ctx context.Context, b *bench, name, address string, variables ...string) (*hubProcess, error) {
	if _, err := os.Stat(b.Hub); err != nil {
		return nil, fmt.Errorf("the hub is not built (go build -o %s ./core/cmd/servery): %w", b.Hub, err)
	}
	dir := filepath.Join(b.scratch, "hub-"+name)
	log := filepath.Join(dir, "servery.log")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	h := &hubProcess{began: time.Now(), ended: make(chan error, 1), client: &http.Client{Timeout: 30 * time.Second}}
	h.process = exec.CommandContext(ctx, b.Hub, "serve")
	h.process.Env = append(withoutSettings(os.Environ()),
		"SERVERY_DATABASE_URL="+address, "SERVERY_LISTEN=127.0.0.1:0", "SERVERY_DATA_DIR="+dir, "SERVERY_LOG_FILE="+log,
		"SERVERY_SECRET_KEY="+secretKey, "SERVERY_WEBHOOK_ALLOW=127.0.0.0/8",
		"SERVERY_LIMIT_STORES=off", "SERVERY_LIMIT_MENU=off", "SERVERY_LIMIT_WEBHOOKS=off", "SERVERY_LIMIT_READ=off",
		"SERVERY_LIMIT_RIDER=off", "SERVERY_LIMIT_LOCATION=off", "SERVERY_LIMIT_OPERATIONS=off",
		"SERVERY_LIMIT_ORDER_UPDATES=off", "SERVERY_LIMIT_CALLBACKS=off")
	h.process.Env = append(append(h.process.Env, b.variables...), variables...)
	h.process.Stderr = os.Stderr
	h.process.Cancel = func() error { return h.process.Process.Signal(syscall.SIGTERM) }
	h.process.WaitDelay = 15 * time.Second
	if err := h.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the hub: %w", err)
	}
	go func() { h.ended <- h.process.Wait() }()
	if err := h.await(ctx, log); err != nil {
		h.stop()
		return nil, fmt.Errorf("the hub did not start: %w", err)
	}
	return h, nil
}

// withoutSettings is an environment without the hub's own variables.
func withoutSettings(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "SERVERY_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// await waits until the log tells the address and the hub is ready there.
func (h *hubProcess) await(ctx context.Context, log string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if h.base == "" {
			h.base = servingAddress(log)
		} else if _, err := h.get(ctx, "/readyz"); err == nil {
			return nil
		}
		select {
		case err := <-h.ended:
			h.ended <- err
			return fmt.Errorf("it ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// servingAddress finds the line of the log that tells where the hub serves.
func servingAddress(log string) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(content) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "serving" {
			return "http://" + entry.Address
		}
	}
	return ""
}

func (h *hubProcess) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+path, nil)
	if err != nil {
		return nil, err
	}
	return h.do(request)
}

// do sends a request and returns the body of its answer, which must be 200.
func (h *hubProcess) do(request *http.Request) ([]byte, error) {
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", request.Method, request.URL.Path, response.Status, body)
	}
	return body, err
}

// accepted is a request of stores that the hub took.
type accepted struct {
	reference      string
	sent, answered time.Time
}

// postTo posts a request that is answered by a reference.
func (h *hubProcess) postTo(ctx context.Context, who tenant, path string, body []byte) (accepted, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+path, bytes.NewReader(body))
	if err != nil {
		return accepted{}, err
	}
	request.Header.Set("Authorization", who.authorization)
	request.Header.Set("Content-Type", "application/json")
	a := accepted{sent: time.Now()}
	answer, err := h.do(request)
	a.answered = time.Now()
	if err != nil {
		return a, err
	}
	var told struct{ Reference string }
	err = json.Unmarshal(answer, &told)
	a.reference = told.Reference
	return a, err
}

// postStores posts a request of stores.
func (h *hubProcess) postStores(ctx context.Context, who tenant, body []byte) (accepted, error) {
	return h.postTo(ctx, who, "/external/api/v1/stores/", body)
}

// memory is what the system says of the hub's memory, in megabytes: VmRSS is
// resident now, VmHWM was so at most.
func (h *hubProcess) memory(field string) (float64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", h.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); name == field {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kilobytes / 1024, err
		}
	}
	return 0, fmt.Errorf("%s tells no %s", file.Name(), field)
}

// forgetPeak has VmHWM begin anew.
func (h *hubProcess) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", h.process.Process.Pid), []byte("5"), 0)
}

// clockTick is the unit in which Linux tells a process's time (USER_HZ).
const clockTick = 10 * time.Millisecond

// processorTime is what the hub has used of the processors since its start.
func (h *hubProcess) processorTime() (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(content), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the system does not tell the hub's processor time")
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick, errors.Join(err1, err2)
}

// stop ends the hub gracefully, or by force after a while.
func (h *hubProcess) stop() {
	h.client.CloseIdleConnections()
	_ = h.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-h.ended:
	case <-time.After(15 * time.Second):
		_ = h.process.Process.Kill()
		<-h.ended
	}
}
