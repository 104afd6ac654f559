// Package relay makes calls to aggregators. Calls are durable, sequential if their order matters, and retried like
// deliveries, and each attempt is recorded. The plugin that serves the platform plans the request and interprets the
// response. The relay adds the URL and the secrets, sends the request and stores the result.
package relay

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/webhook"
)

// Kind is the kind of a call.
type Kind string

// The kinds of call.
const (
	RiderStatus   Kind = "rider_status"
	RiderLocation Kind = "rider_location"
	Action        Kind = "action"
	// OrderAcknowledge reports that an order was accepted or rejected.
	OrderAcknowledge Kind = "order_acknowledge"
	// OrderStatus reports the new state of an order.
	OrderStatus Kind = "order_status"
	// InboundFetch fetches the content of an inbound request with only a link.
	InboundFetch Kind = "inbound_fetch"
	// Poll requests messages that the aggregator does not send. It stays in the queue, and has no record in calls.
	Poll Kind = "poll"
	// ItemsOOS reports that items of an order are out of stock.
	ItemsOOS Kind = "items_oos"
	// StoreAction opens or closes a store, or says that it is busy. ItemAction enables or disables its items and
	// options.
	StoreAction Kind = "store_action"
	ItemAction  Kind = "item_action"
)

// LocationInterval is the least interval between rider locations sent to an order's platform. Of the locations
// received in between, only the latest is sent.
const LocationInterval = time.Second

// OrderingKey returns the ordering key of calls about an order: the statuses of its rider, the locations of its
// rider, or a single action.
func OrderingKey(kind Kind, subject string) string { return string(kind) + ":" + subject }

// OrderKey returns the ordering key of calls about the order itself: its acknowledgement, then its states.
func OrderKey(id int64) string { return "order:" + strconv.FormatInt(id, 10) }

// RejectionKey returns the ordering key of calls about a rejected order, by the platform's own id of it.
func RejectionKey(platform, platformOrderID string) string {
	return "refusal:" + platform + "/" + platformOrderID
}

// InboundKey returns the ordering key of fetches for inbound requests about one order, by the platform's own id of it.
func InboundKey(platform, platformOrderID string) string {
	return "inbound:" + platform + "/" + platformOrderID
}

// StoreKey returns the ordering key of calls about a store, except its menu, by the hub's id of the store.
func StoreKey(platform string, store int64) string {
	return "store:" + platform + "/" + strconv.FormatInt(store, 10)
}

// Order is the order of a call.
type Order struct {
	ID              int64
	PlatformOrderID string
	StoreRefID      string
	PlatformStoreID string
	Kind            string // such as delivery
	DeliveryMode    string // self or partner
	Bulk            bool
	Lines           []OrderLine // as the order has them now
}

// OrderLine is an item of an order, or an option of an item. LineID is the platform's id of it, "" if it sent none.
type OrderLine struct {
	RefID, LineID string
	Quantity      int64
	Options       []OrderLine
}

// RiderStatusPayload is the payload of a RiderStatus call.
type RiderStatusPayload struct {
	Status string `json:"status"`
	Name   string `json:"name,omitzero"`
	Phone  string `json:"phone,omitzero"`
	At     int64  `json:"at"` // epoch milliseconds
}

// RiderLocationPayload is the payload of a RiderLocation call.
type RiderLocationPayload struct {
	Latitude  string `json:"latitude"` // decimal degrees
	Longitude string `json:"longitude"`
	At        int64  `json:"at"` // epoch milliseconds
}

// OrderAcknowledgePayload is the payload of an OrderAcknowledge call. A rejected order is identified by the
// platform's ids of the order and its store.
type OrderAcknowledgePayload struct {
	Accepted        bool   `json:"accepted"`
	PrepMinutes     int64  `json:"prep_minutes,omitzero"` // until the food is ready; 0: unknown
	Reason          string `json:"reason,omitzero"`       // of a rejection
	ReasonCode      string `json:"reason_code,omitzero"`
	PlatformOrderID string `json:"platform_order_id,omitzero"`
	PlatformStoreID string `json:"platform_store_id,omitzero"`
	At              int64  `json:"at"` // epoch milliseconds
	RejectedRefIDs
}

// RejectedRefIDs are the ref_ids of items and options that a cancellation names as its reason.
type RejectedRefIDs struct {
	OutOfStock []string `json:"out_of_stock,omitempty"`
	Invalid    []string `json:"invalid,omitempty"`
}

// OrderStatusPayload is the payload of an OrderStatus call.
type OrderStatusPayload struct {
	Status      string `json:"status"` // Acknowledged, Preparing, Food Ready, Dispatched, Completed or Cancelled
	Message     string `json:"message,omitzero"`
	PrepMinutes int64  `json:"prep_minutes,omitzero"` // until the food is ready; 0: unknown
	ReasonCode  string `json:"reason_code,omitzero"`
	At          int64  `json:"at"` // epoch milliseconds
	RejectedRefIDs
}

// ActionPayload is the payload of an Action call.
type ActionPayload struct {
	Action      string `json:"action"`
	Temp        string `json:"temp,omitzero"` // decimal, degrees Fahrenheit
	WearingMask *bool  `json:"wearing_mask,omitzero"`
	Phone       string `json:"phone,omitzero"`

	Parameters jsontext.Value `json:"parameters,omitzero"`  // a JSON object, valid by the schema of the action
	SendsEvent bool           `json:"sends_event,omitzero"` // a feature_action event reports the outcome
}

// InboundFetchPayload is the payload of an InboundFetch call.
type InboundFetchPayload struct {
	PlatformOrderID string `json:"platform_order_id,omitzero"`
	Request         []byte `json:"request,omitempty"` // the stored InboundRequest; empty after the call is done
	Poll            string `json:"poll,omitzero"`     // that found the request; "": the aggregator sent it
}

// ItemsOOSPayload is the payload of an ItemsOOS call.
type ItemsOOSPayload struct {
	RefIDs       []string `json:"ref_ids,omitempty"` // of items that are out of stock
	OptionRefIDs []string `json:"option_ref_ids,omitempty"`
	AllowEdit    bool     `json:"allow_edit"` // the platform may let the customer change the order
	At           int64    `json:"at"`         // epoch milliseconds
}

// PlatformStore is the store of a StoreAction or ItemAction call, with the request that caused it.
type PlatformStore struct {
	StoreID         int64   `json:"store_id"`
	StoreRefID      string  `json:"store_ref_id"`
	PlatformStoreID string  `json:"platform_store_id,omitzero"`
	Reference       core.ID `json:"reference"`
	Source          string  `json:"source"` // the origin of the request: api, console, presence, timer
	Enable          bool    `json:"enable"`
	At              int64   `json:"at"`                  // epoch milliseconds
	TurnOnAt        int64   `json:"turn_on_at,omitzero"` // of disabling: when the hub enables it again

	// StaysClosed is set in a StoreAction that enables a store that is inactive or takes no orders.
	StaysClosed bool `json:"stays_closed,omitzero"`

	Workload *Workload `json:"workload,omitzero"` // of a StoreAction that leaves the store open or closed
}

// Workload is how busy the kitchen of a store is.
type Workload struct {
	Busy        bool  `json:"busy"`
	PrepMinutes int64 `json:"prep_minutes,omitzero"` // for new orders; 0: not given
	Until       int64 `json:"until,omitzero"`        // when it ends, epoch milliseconds; 0: on request only
}

// StoreActionPayload is the payload of a StoreAction call.
type StoreActionPayload struct{ PlatformStore }

// ItemActionPayload is the payload of an ItemAction call.
type ItemActionPayload struct {
	PlatformStore
	Items   []core.AvailabilityResult `json:"items,omitempty"` // those with a reason are not sent
	Options []core.AvailabilityResult `json:"options,omitempty"`
	Version int64                     `json:"version"` // of the store's published content, after this change was stored
}

// SentRefIDs returns the ref_ids to send.
func (p ItemActionPayload) SentRefIDs() (items, options []string) {
	return refIDs(p.Items), refIDs(p.Options)
}

func refIDs(list []core.AvailabilityResult) (refs []string) {
	for _, s := range list {
		if s.Reason == "" {
			refs = append(refs, s.RefID)
		}
	}
	return refs
}

// Rejection is an item or option that the aggregator did not enable or disable.
type Rejection struct {
	Entity  string `json:"entity"`
	RefID   string `json:"ref_id"`
	Message string `json:"message"`
}

// Call is a call that is leased to this replica.
type Call struct {
	ID          core.ID // also its idempotency key, the same in every attempt
	Business    core.BusinessID
	Platform    string
	Plugin      string // the plugin that serves the platform; core.ServedByMerchant: none any more
	Endpoint    int64  // the unit of fairness: one for each platform of a business
	OrderingKey string
	Kind        Kind
	Order       Order
	Payload     []byte    // the JSON of its kind's payload
	Since       time.Time // of its content; zero: a menu, which is always current
	Attempts    int       // finished so far
	DueAt       time.Time
	LeasedUntil time.Time
	Lease       int64 // number of the lease
	Version     int64 // of the ordering key, when it was claimed
	Trace       core.Trace
	Owner       core.ID           // of the lease
	Steps       []byte            // the completed steps of earlier attempts, see SaveSteps; nil: none
	Values      map[string]string // that the plugin keeps for the platform and the store
}

// KeptValue is a value that a plugin keeps.
type KeptValue struct {
	Name, Value                 string // "" removes the value
	StoreRefID, PlatformStoreID string // one of them names its store; neither: of the platform
}

// Plan is one request to the aggregator, without URL and secrets, or several. A plan with steps has nothing else.
type Plan struct {
	Endpoint string   // name of one of the plugin's endpoints
	Hosts    []string // allowed by the plugin's manifest; *.example.com matches every subdomain of example.com
	Method   string
	Path     string // begins with a slash, already escaped
	URL      string // instead of the path: a whole URL from an inbound request
	Query    map[string]string
	Headers  map[string]string
	Body     []byte
	Secrets  []SecretHeader
	Success  Success

	Credentials []Credential // whose headers the request has
	Certificate Certificate  // of the endpoint
	RateLimit   RateLimit    // of the endpoint

	Steps []Step // in order

	target  *url.URL          // instead of the endpoint's URL and Path
	secrets map[string]string // headers whose values are masked
}

// SecretHeader is a header that carries a secret.
type SecretHeader struct {
	Header, Secret string
	Template       string // contains {secret} once
}

// Success specifies which responses are a success. Any other response is retried, unless its status is in Final.
type Success struct {
	Statuses []int  // none: every 2xx
	Pointer  string // RFC 6901, into the response's body; "": the body does not matter
	Equals   string // the expected value there, as JSON
	Final    []int
}

// Decision is a plan, or a reason to send nothing. With Done, the call is done without a request.
type Decision struct {
	Plan *Plan
	Skip string
	Done string
}

// Response is the aggregator's response.
type Response struct {
	Status  int
	Headers map[string]string // names in lower case
	Body    []byte            // the first 64 KiB

	Step    string     // of a plan with steps
	Earlier []Response // of the steps before it
	Pages   [][]byte   // the bodies of all pages, if the step has pages
}

// Outcome is the result of a call, from its response or from a later callback.
type Outcome struct {
	State         OutcomeState // "": the plugin does not decide it
	ByCallback    bool         // of an undecided one: a success is pending, because the outcome follows in a callback
	Message       string
	CustomerPhone string      // of an action that asks for it, and of ItemsOOS: a number that reaches the customer
	Pin           string      // of ItemsOOS: the code to enter after dialling
	Rejected      []Rejection // of an ItemAction that is done
	Polled        *Polled     // of a Poll that is done

	// Of a pending outcome, except of an action: the aggregator's id of the task, and when the outcome is overdue.
	Task         string
	ExpiresAfter time.Duration

	// Of a later callback: identifies the call, by its id if the aggregator repeats it, and otherwise by the action
	// and the order.
	CallID          core.ID
	Action          string
	PlatformOrderID string
	FollowUp        *order.FollowUp // set if the action has changed the order
}

// OutcomeState is the meaning of a response.
type OutcomeState = outcome.State

// The states of an outcome.
const (
	OutcomeDone    = outcome.Done
	OutcomeFailed  = outcome.Failed
	OutcomePending = outcome.Pending
	OutcomeRetry   = outcome.Retry
)

// Plugins plans calls and interprets responses. An Invalid error means that the call itself is wrong and must not be
// retried. NotFound means that the plugin does not send this kind of call. With core.Snooze another replica runs the
// plugin: the call is left to that replica, and no call of the platform is claimed until then. A core.Error with
// Internal is a failure of this call, which is retried a few times. With any other error the call waits.
type Plugins interface {
	Plan(ctx context.Context, call Call, settings []byte) (Decision, error)
	// Interpret reads a response. The outcome's state is "" if the plugin does not decide it. If Interpret fails for
	// a response that the plan counts as success, the call is retried.
	Interpret(ctx context.Context, call Call, settings []byte, response Response) (Outcome, error)
	// Serves reports whether a plugin can be called at once, here or at another replica.
	Serves(plugin string) bool
}

// Request is a plan with URL and secrets.
type Request = webhook.Request

// Sender makes one attempt, within its own time limit.
type Sender interface {
	Send(ctx context.Context, r Request) Attempt
}

// Attempt is the record of one attempt.
type Attempt struct {
	StartedAt       time.Time
	Method, URL     string
	RequestHeaders  map[string]string // secrets masked
	RequestBody     []byte
	Status          int    // 0 without a response
	ErrorClass      string // "" on success
	Error           string // in plain words
	ResponseHeaders map[string]string
	ResponseBody    []byte
	Took            time.Duration
	Step            string // of a plan with steps
	Raw             []byte // the response as it came, if the request asks for it; never recorded
}

// Responded reports whether the aggregator sent a complete response other than 429 (too many requests).
func (a Attempt) Responded() bool {
	complete := a.ErrorClass == "" || a.ErrorClass == "status" || a.ErrorClass == "refused" ||
		a.ErrorClass == credentialClass
	return complete && a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// State is the state of a call.
type State string

// The states of a call. Waiting includes a call that will be retried.
const (
	Waiting State = "waiting"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
	Pending State = "pending" // sent; the outcome follows later

	leftToPeer State = "left" // left to another replica; never recorded
)
