// Package webhook holds subscriptions and the delivery engine: what a
// subscription may say, how a delivery is signed, sent, tried again and given
// up, and which addresses may be reached (spec, Webhook subscription and Events).
package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/servery-hub/servery/core"
)

// Units is the time unit of a subscription's retry schedule.
type Units string

// The units of the spec; minutes is the default.
const (
	Minutes Units = "minutes"
	Seconds Units = "seconds"
)

// Subscription is a webhook: one event type posted to one address.
type Subscription struct {
	ID             int64
	Business       core.BusinessID
	EventType      core.EventType
	URL            string
	Active         bool
	Units          Units
	Headers        map[string]string
	Secret         string    // whsec_…, signs every delivery
	OldSecretUntil time.Time // until when the one before signs too; set by Rotate alone
	DisabledReason string    // why the hub switched it off
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// MaxActive is how many active subscriptions to one event type a business may have:
// each is another delivery in the transaction that takes in an order.
const MaxActive = 100

// secretPrefix marks a signing secret (Standard Webhooks, Signature scheme).
const secretPrefix = "whsec_"

// NewSecret makes a signing secret of 32 random bytes.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails (crypto/rand)
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// Delivery is an event on its way to one endpoint.
type Delivery struct {
	ID        core.ID
	Business  core.BusinessID
	EventID   core.ID // the webhook-id of every attempt
	EventType core.EventType
	Body      []byte
	WebhookID int64 // 0: to the callback_url of a request
	Endpoint  int64 // what fairness goes by
	URL       string
	Units     Units
	Headers   map[string]string
	Secret    string
	Earlier   []string  // secrets that sign too
	Version   int64     // of the webhook, as these were read
	Unready   string    // why it cannot be sent, in plain words: the attempt fails for that; "": it can
	Attempts  int       // finished so far
	Base      int       // of them, before the schedule was begun anew by hand
	DueAt     time.Time // when the next attempt was to start
	LeasedTo  time.Time // until when nobody else takes it
	Line      int64     // its order: at one server, one of its deliveries goes after the other; 0: none
	Place     int       // of its event among those of the order, from 1
	Asked     bool      // a person asked for this attempt
	Probe     bool      // the attempt tries out an endpoint that fails
	Test      bool      // its event is a sample
	Trace     core.Trace
}

// patient tells whether the delivery waits while its endpoint fails: it is no probe,
// and nobody asked for it.
func (d Delivery) patient() bool { return !d.Probe && !d.Asked }

// Attempt is the record of one try.
type Attempt struct {
	StartedAt       time.Time
	URL             string
	RequestHeaders  map[string]string // values of custom headers masked
	Status          int               // 0 when there was no answer
	ErrorClass      ErrorClass
	Error           string // in plain words
	ResponseHeaders map[string]string
	ResponseBody    []byte // the first 4 KiB
	Timing          Timing
}

// Timing holds instants of an attempt as time since its start; zero where a
// phase did not take place (a kept-alive connection has no lookup).
type Timing struct {
	DNS, Connect, TLS, FirstByte, Total time.Duration
}

// OK tells whether the endpoint accepted the delivery: only 2xx is success.
func (a Attempt) OK() bool { return a.ErrorClass == "" }

// ErrorClass names why an attempt failed.
type ErrorClass string

// The classes of failure.
const (
	Refused  ErrorClass = "address_refused" // by the guard
	DNS      ErrorClass = "dns"
	Connect  ErrorClass = "connect"
	TLS      ErrorClass = "tls"
	Timeout  ErrorClass = "timeout"
	Broken   ErrorClass = "connection_broken"
	Protocol ErrorClass = "protocol"
	Redirect ErrorClass = "redirect"
	Status   ErrorClass = "status"
	Gone     ErrorClass = "gone" // 410: the subscription is switched off
)

// State is where a delivery stands after an attempt.
type State string

// The states that an attempt can lead to.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

// Result is what an attempt led to.
type Result struct {
	Delivery Delivery
	Attempt  Attempt
	State    State
	RetryAt  time.Time // of Pending
	Disable  bool      // the subscription is to be switched off
}
