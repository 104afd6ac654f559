package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/webhook"
)

// arrival is a delivery that an endpoint got.
type arrival struct {
	webhookID string
	order     int64  // 0: it is about none
	key       string // the platform's id of the order, of one that was placed
	content   string // of an order: its state; else the event type and the reference
	accepted  bool   // answered with 200, whether the hub heard it or not
	retried   int    // of an order retry: how many deliveries were sent again
	failed    int    // of them, how many were refused again
}

// endpoint is a server of the integrator's. Hubs reach it by a wire.
type endpoint struct {
	proxy     *proxy
	rejecting atomic.Bool // orders of odd ids

	mu       sync.Mutex
	secrets  []string // by which deliveries here are signed
	arrivals []arrival
	wrong    []string
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.proxy = newProxy(t, dialTo("tcp", server.Listener.Addr().String()))
	return e
}

// webhookBody is what is looked at in deliveries of all event types.
type webhookBody struct {
	Reference string          `json:"reference"`
	Stats     json.RawMessage `json:"stats"`
	Retry     string          `json:"reference_id"`
	Retried   int             `json:"num_webhooks_retried"`
	Failed    int             `json:"num_webhooks_retry_failed"`
	OrderID   int64           `json:"order_id"`
	NewState  string          `json:"new_state"`
	Order     struct {
		Details struct {
			ID        int64 `json:"id"`
			Platforms []struct {
				ID string `json:"id"`
			} `json:"ext_platforms"`
		} `json:"details"`
	} `json:"order"`
	Rider struct {
		State string `json:"current_state"`
	} `json:"delivery_info"`
}

// ServeHTTP remembers a delivery and answers it.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off on the way
	}
	event := r.Header.Get("X-Event-Type")
	var told webhookBody
	_, unsigned := webhook.Verify(e.knownSecrets(), webhook.SignatureOf(r.Header), content, time.Now())
	err = errors.Join(json.Unmarshal(content, &told), eventtest.Validate(core.EventType(event), content),
		checkTimestamp(r.Header.Get("webhook-timestamp")), unsigned, checkStats(told.Stats))
	a := arrival{webhookID: r.Header.Get("webhook-id"), order: told.OrderID, accepted: true}
	switch event {
	case "order_placed":
		a.order, a.content = told.Order.Details.ID, "Placed"
		for _, platform := range told.Order.Details.Platforms {
			a.key = platform.ID
		}
		a.accepted = !e.rejecting.Load() || a.order%2 == 0
	case "order_status_update":
		a.content = told.NewState
	case "rider_status_update":
		a.content = "rider " + told.Rider.State
	case "webhook_retry":
		a.content, a.retried, a.failed = event+" "+told.Retry, told.Retried, told.Failed
	default:
		a.content = event + " " + told.Reference
	}
	e.mu.Lock()
	e.arrivals = append(e.arrivals, a)
	if err != nil || a.webhookID == "" {
		e.wrong = append(e.wrong, fmt.Sprintf("%s: %v: %.300s", event, err, content))
	}
	e.mu.Unlock()
	if !a.accepted {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// countedErrors finds errors that are counted, at any depth.
var countedErrors = regexp.MustCompile(`"errors": *[1-9]`)

// checkStats tells whether everything of a request was carried out: nothing that is
// sent here is wrong.
func checkStats(stats json.RawMessage) error {
	if countedErrors.Match(stats) {
		return fmt.Errorf("something failed that was right: %s", stats)
	}
	return nil
}

func (e *endpoint) knownSecrets() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.secrets
}

// count is how many deliveries have come.
func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.arrivals)
}

// checkTimestamp tells whether the hub sent it at the time that it says, whatever its
// machine's clock shows. It may have been stopped meanwhile.
func checkTimestamp(stamp string) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if late := time.Since(time.Unix(seconds, 0)); err == nil && (late < -3*time.Second || late > 40*time.Second) {
		return fmt.Errorf("webhook-timestamp %s is %v before its arrival", stamp, late)
	}
	return err
}

func (e *endpoint) allArrivals() []arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]arrival(nil), e.arrivals...)
}

// problems are deliveries that are not as the catalogue describes them.
func (e *endpoint) problems() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.wrong...)
}
