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

// arrival is a delivery that an endpoint received.
type arrival struct {
	webhookID string
	order     int64  // 0: not about an order
	key       string // platform_order_id, of an order_placed
	content   string // the state of an order, or else event type and reference
	accepted  bool   // the endpoint returned 200, whether or not the hub received it
	retried   int    // of an order retry: resent deliveries
	failed    int    // of an order retry: deliveries that failed again
}

// endpoint is a webhook endpoint. Hubs reach it through a proxy.
type endpoint struct {
	proxy     *proxy
	rejecting atomic.Bool // rejects orders with odd ids

	mu       sync.Mutex
	secrets  []string // of the webhooks
	arrivals []arrival
	invalid  []string
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.proxy = newProxy(t, dialTo("tcp", server.Listener.Addr().String()))
	return e
}

// webhookBody contains the fields that the checks need, for all event types.
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

// ServeHTTP records a delivery and responds.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return // the connection broke
	}
	event := r.Header.Get("X-Event-Type")
	var received webhookBody
	_, unsigned := webhook.Verify(e.knownSecrets(), webhook.SignatureOf(r.Header), content, time.Now())
	err = errors.Join(json.Unmarshal(content, &received), eventtest.Validate(core.EventType(event), content),
		checkTimestamp(r.Header.Get("webhook-timestamp")), unsigned, checkStats(received.Stats))
	a := arrival{webhookID: r.Header.Get("webhook-id"), order: received.OrderID, accepted: true}
	switch event {
	case "order_placed":
		a.order, a.content = received.Order.Details.ID, "Placed"
		for _, platform := range received.Order.Details.Platforms {
			a.key = platform.ID
		}
		a.accepted = !e.rejecting.Load() || a.order%2 == 0
	case "order_status_update":
		a.content = received.NewState
	case "rider_status_update":
		a.content = "rider " + received.Rider.State
	case "webhook_retry":
		a.content, a.retried, a.failed = event+" "+received.Retry, received.Retried, received.Failed
	default:
		a.content = event + " " + received.Reference
	}
	e.mu.Lock()
	e.arrivals = append(e.arrivals, a)
	if err != nil || a.webhookID == "" {
		e.invalid = append(e.invalid, fmt.Sprintf("%s: %v: %.300s", event, err, content))
	}
	e.mu.Unlock()
	if !a.accepted {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// countedErrors matches a positive count of errors at any depth.
var countedErrors = regexp.MustCompile(`"errors": *[1-9]`)

// checkStats returns an error if an object of a request failed. All requests here are valid.
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

// count returns the number of deliveries.
func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.arrivals)
}

// checkTimestamp checks that the hub used the database's time, whatever its own clock shows. The hub may have been
// stopped after it signed.
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

// problems returns the deliveries that do not match the catalogue.
func (e *endpoint) problems() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.invalid...)
}
