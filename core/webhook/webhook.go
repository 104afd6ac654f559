// Package webhook manages subscriptions and delivers events to them. It validates subscriptions, signs, sends and
// retries deliveries, and restricts which addresses they reach.
package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/servery-hub/servery/core"
)

// Units is the time unit of a subscription's retry schedule.
type Units string

// The units. Minutes is the default.
const (
	Minutes Units = "minutes"
	Seconds Units = "seconds"
)

// Subscription is a webhook: one event type posted to one URL.
type Subscription struct {
	ID             int64
	Business       core.BusinessID
	EventType      core.EventType
	URL            string
	Active         bool
	Units          Units
	Headers        map[string]string
	EventHeader    EventHeader
	Secret         string    // whsec_…, signs every delivery
	OldSecretUntil time.Time // until when the previous secret also signs; set by Rotate only
	DisabledReason string    // why the hub disabled it
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// MaxActive bounds the active subscriptions of a business to one event type. Each adds a delivery to the transaction
// that stores an order.
const MaxActive = 100

// MaxWebhooks bounds the subscriptions of a business, also the inactive ones, because none is ever deleted.
const MaxWebhooks = 2000

// secretPrefix marks a signing secret (Standard Webhooks, Signature scheme).
const secretPrefix = "whsec_"

// NewSecret returns a signing secret of 32 random bytes.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails (crypto/rand)
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// Delivery is an event to be sent to one endpoint.
type Delivery struct {
	ID                    core.ID
	Business              core.BusinessID
	EventID               core.ID // the webhook-id of every attempt
	EventType             core.EventType
	Body                  []byte
	WebhookID             int64 // 0: to the callback_url of a request
	Endpoint              int64 // the unit of fairness between receivers
	URL                   string
	Units                 Units
	Headers               map[string]string
	Secret                string
	OldSecrets            []string  // earlier secrets that also sign
	Version               int64     // of the webhook, when these were read
	BuildError            string    // why it cannot be sent, in plain words; the attempt then fails; "" if it can
	Attempts              int       // finished so far
	AttemptsBeforeRestart int       // attempts before the schedule was restarted by hand
	DueAt                 time.Time // when the next attempt was due
	StartAt               time.Time // when the attempt may start; zero: at once
	LeasedUntil           time.Time // end of the lease
	Lease                 int64     // number of the lease; 0: of the transaction that stored the delivery
	OrderingKey           int64     // its order, whose deliveries to one server are sequential; 0: none
	Sequence              int       // sequence of its event in the order, from 1
	Manual                bool      // a person requested this attempt
	Probe                 bool      // the attempt probes a failing endpoint
	Test                  bool      // its event is a sample
	Trace                 core.Trace

	EventHeader EventHeader // of the webhook
}

// Attempt is the record of one attempt.
type Attempt struct {
	StartedAt       time.Time
	URL             string
	RequestHeaders  map[string]string // values of custom headers masked
	Status          int               // 0 without a response
	ErrorClass      ErrorClass
	Error           string // in plain words
	ResponseHeaders map[string]string
	ResponseBody    []byte // the first 4 KiB
	Timing          Timing
	SentTwice       bool // the first connection was closed before a response, so the request was repeated

	Raw     []byte // the start of the response as it came, if the request asks for it; never recorded
	keepRaw bool
}

// Timing holds the end of each phase as time since the start. It is zero for a skipped phase: a kept-alive connection
// has no lookup.
type Timing struct {
	DNS, Connect, TLS, FirstByte, Total time.Duration
}

// OK reports whether the endpoint accepted the delivery: only 2xx is success.
func (a Attempt) OK() bool { return a.ErrorClass == "" }

// ErrorClass is the class of a failed attempt.
type ErrorClass string

// The classes of failure.
const (
	AddressRefused   ErrorClass = "address_refused" // by the guard
	DNS              ErrorClass = "dns"
	Connect          ErrorClass = "connect"
	TLS              ErrorClass = "tls"
	Timeout          ErrorClass = "timeout"
	ConnectionBroken ErrorClass = "connection_broken"
	Protocol         ErrorClass = "protocol"
	Redirect         ErrorClass = "redirect"
	Status           ErrorClass = "status"
	Gone             ErrorClass = "gone" // 410: the subscription is disabled
)

// State is the state of a delivery after an attempt.
type State string

// The possible states after an attempt.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

// Result is the result of an attempt.
type Result struct {
	Delivery Delivery
	Attempt  Attempt
	State    State
	RetryAt  time.Time // of Pending
	Disable  bool      // disable the subscription
}
