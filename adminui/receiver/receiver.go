// Package receiver is the built-in demo receiver: a URL for webhooks, and a page that shows what arrived. It
// stores the last deliveries in memory.
package receiver

import (
	"bytes"
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web/body"
)

// Path is where deliveries are posted and listed.
const Path = "/demo/receiver/"

// bodyLimit limits the size of a delivery.
var bodyLimit = body.Limit{Bytes: 16 << 20, Class: limit.Large, Cost: body.Cost{Byte: 2}}

// Limits of the storage.
const (
	MaxBody         = 256 << 10
	defaultCapacity = 100
)

// Secrets returns the known signing secrets by name, such as "webhook 7". It is called for every delivery.
type Secrets func(ctx context.Context) (map[string]string, error)

// Config configures a receiver.
type Config struct {
	Capacity int            // stored deliveries; 0: 100
	Secrets  Secrets        // nil: no secrets
	Memory   *limit.Memory  // memory for deliveries; nil: no limit
	Proxies  []netip.Prefix // whose X-Forwarded-For is trusted
	Clock    core.Clock
	BaseURL  string    // in commands on the page, without a trailing slash
	Links    []ui.Link // in the top bar
}

// Receiver stores deliveries. It is safe for concurrent use.
type Receiver struct {
	Config
	mu    sync.Mutex
	ring  []*Delivery // delivery n is at (n-1) % Capacity
	total int
}

// Delivery is a received request. It does not change once stored.
type Delivery struct {
	Number     int // counting from 1
	At         time.Time
	WebhookID  string
	EventType  string
	Headers    []Header // sorted by name
	Body       []byte   // the first MaxBody bytes
	Size       int      // of the complete body
	Repeat     int      // earlier stored deliveries with the same WebhookID
	Signature  Verification
	Reference  string // of the request that caused the callback
	StoreStats *Stats // of a store_creation callback
}

// Header is a header of a delivery.
type Header struct{ Name, Value string }

// Clipped reports whether the body is longer than its stored part.
func (d *Delivery) Clipped() bool { return d.Size > len(d.Body) }

// New returns an empty receiver.
func New(config Config) *Receiver {
	if config.Capacity <= 0 {
		config.Capacity = defaultCapacity
	}
	if config.Secrets == nil {
		config.Secrets = func(context.Context) (map[string]string, error) { return nil, nil }
	}
	return &Receiver{Config: config, ring: make([]*Delivery, config.Capacity)}
}

// accept stores a delivery. d has its headers; body is not used after accept returns.
func (r *Receiver) accept(ctx context.Context, d Delivery, signed webhook.Signature, body []byte) {
	d.At, d.Size = r.Clock.Now(), len(body)
	secrets, err := r.Secrets(ctx)
	if err != nil {
		d.Signature = Verification{Reason: "the known secrets could not be read"}
	} else {
		d.Signature = verify(signed, secrets, d.At, body)
	}
	d.Reference, d.StoreStats = summarize(d.EventType, body)
	d.Body = bytes.Clone(body[:min(len(body), MaxBody)])

	r.mu.Lock()
	defer r.mu.Unlock()
	for _, earlier := range r.ring {
		if earlier != nil && d.WebhookID != "" && earlier.WebhookID == d.WebhookID {
			d.Repeat = max(d.Repeat, earlier.Repeat+1)
		}
	}
	r.total++
	d.Number = r.total
	r.ring[(d.Number-1)%r.Capacity] = &d
}

// Deliveries returns the stored deliveries, newest first, and the number of all received.
func (r *Receiver) Deliveries() (list []*Delivery, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := r.total; n > 0 && n > r.total-r.Capacity; n-- {
		list = append(list, r.ring[(n-1)%r.Capacity])
	}
	return list, r.total
}

// delivery returns a delivery by number, or nil if it is not stored.
func (r *Receiver) delivery(number int) *Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number < 1 || number > r.total || number <= r.total-r.Capacity {
		return nil
	}
	return r.ring[(number-1)%r.Capacity]
}
