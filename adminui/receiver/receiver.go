// Package receiver is the built-in demo receiver: an address that webhooks can
// be pointed at, and a page that shows what arrived. It keeps the last
// deliveries in memory and nothing else.
package receiver

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web/body"
)

// Path is the address of deliveries and of the page.
const Path = "/demo/receiver/"

// bodyLimit bounds what a delivery may be.
var bodyLimit = body.Limit{Bytes: 16 << 20, Class: limit.Large, Cost: body.Cost{Byte: 2}}

// Bounds of what is kept.
const (
	MaxBody         = 256 << 10
	defaultCapacity = 100
)

// Secrets are the signing secrets that deliveries are verified against, each
// under a name for people, such as webhook 7. It is called for every delivery.
type Secrets func(ctx context.Context) (map[string]string, error)

// Config is what a receiver is made of.
type Config struct {
	Capacity int           // deliveries kept; 0 is 100
	Secrets  Secrets       // nil: none are known
	Memory   *limit.Memory // for deliveries; nil: no bound
	Clock    core.Clock
	BaseURL  string    // of the commands on the page, without a slash at its end
	Links    []ui.Link // of the top bar
}

// Receiver remembers deliveries. It may be used by many goroutines.
type Receiver struct {
	Config
	mu    sync.Mutex
	ring  []*Delivery // a ring: the delivery of number n is at (n-1) % Capacity
	total int
}

// Delivery is one request that arrived. It does not change once it is kept.
type Delivery struct {
	Number     int // counting from 1
	At         time.Time
	WebhookID  string
	EventType  string
	Headers    []Header // sorted by name
	Body       []byte   // the first KeptBody of it
	Size       int      // of the whole body
	Repeat     int      // how many of the kept ones came before with the same WebhookID
	Signature  Verification
	Reference  string // of the request that the body answers
	StoreStats *Stats // of store_creation
}

// Header is one header of a delivery.
type Header struct{ Name, Value string }

// Clipped tells whether the body was longer than what is kept.
func (d *Delivery) Clipped() bool { return d.Size > len(d.Body) }

// New makes an empty receiver.
func New(config Config) *Receiver {
	if config.Capacity <= 0 {
		config.Capacity = defaultCapacity
	}
	if config.Secrets == nil {
		config.Secrets = func(context.Context) (map[string]string, error) { return nil, nil }
	}
	return &Receiver{Config: config, ring: make([]*Delivery, config.Capacity)}
}

// accept keeps a delivery: d carries its headers, body is borrowed until accept returns.
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

// Deliveries lists what is kept, the newest first, and counts all that ever came.
func (r *Receiver) Deliveries() (list []*Delivery, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := r.total; n > 0 && n > r.total-r.Capacity; n-- {
		list = append(list, r.ring[(n-1)%r.Capacity])
	}
	return list, r.total
}

// delivery is the one of the number, nil when it is not kept.
func (r *Receiver) delivery(number int) *Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number < 1 || number > r.total || number <= r.total-r.Capacity {
		return nil
	}
	return r.ring[(number-1)%r.Capacity]
}
