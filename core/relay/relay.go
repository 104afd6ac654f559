// Package relay carries calls to aggregators: durable, one after the other where
// their order matters, tried again like deliveries, each attempt on record. What
// is sent is planned by the plugin that serves the platform; the relay adds the
// address and the secrets, sends, and keeps what came of it (contract, Riders and
// Feature actions).
package relay

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
)

// Kind is what a call tells the aggregator.
type Kind string

// The kinds of call.
const (
	RiderStatus   Kind = "rider_status"
	RiderLocation Kind = "rider_location"
	Action        Kind = "action"
	// OrderAcknowledge tells that an order was taken, or refused.
	OrderAcknowledge Kind = "order_acknowledge"
	// OrderStatus tells of an order's new state.
	OrderStatus Kind = "order_status"
	// ItemsOOS tells that items of an order are out of stock.
	ItemsOOS Kind = "items_oos"
	// StoreAction opens or closes a store, ItemAction switches items and options of one.
	StoreAction Kind = "store_action"
	ItemAction  Kind = "item_action"
)

// PlaceEvery is how often an order's platform is told where its rider is, at
// most: what comes meanwhile is told as the newest place when the time has come.
const PlaceEvery = time.Second

// Line names what of an order goes to its platform one after the other: the
// statuses of its rider, the places of its rider, or a single action.
func Line(kind Kind, subject string) string { return string(kind) + ":" + subject }

// OrderLine names the line of what an order's platform is told of the order
// itself: first that it was taken, then its states.
func OrderLine(id int64) string { return "order:" + strconv.FormatInt(id, 10) }

// RefusalLine names the line of what a platform is told of an order that the hub
// did not take, by the platform's own id of it.
func RefusalLine(platform, platformOrderID string) string {
	return "refusal:" + platform + "/" + platformOrderID
}

// StoreLine names the line of what a platform is told of a store beside its menu,
// by the hub's id of the store.
func StoreLine(platform string, store int64) string {
	return "store:" + platform + "/" + strconv.FormatInt(store, 10)
}

// Order is the order that a call is about.
type Order struct {
	ID              int64
	PlatformOrderID string
	StoreRefID      string
	PlatformStoreID string
	Kind            string // such as delivery
	Carrier         string // self or partner
	Bulk            bool
}

// RiderStatusPayload is what a call of kind RiderStatus tells.
type RiderStatusPayload struct {
	Status string `json:"status"`
	Name   string `json:"name,omitzero"`
	Phone  string `json:"phone,omitzero"`
	At     int64  `json:"at"` // epoch milliseconds
}

// RiderLocationPayload is what a call of kind RiderLocation tells.
type RiderLocationPayload struct {
	Latitude  string `json:"latitude"` // decimal degrees
	Longitude string `json:"longitude"`
	At        int64  `json:"at"` // epoch milliseconds
}

// OrderAcknowledgePayload is what a call of kind OrderAcknowledge tells. An order
// that the hub did not take is named by what the platform calls it and its store.
type OrderAcknowledgePayload struct {
	Accepted        bool   `json:"accepted"`
	PrepMinutes     int64  `json:"prep_minutes,omitzero"` // until the food is ready; 0: not known
	Reason          string `json:"reason,omitzero"`       // of a refusal
	ReasonCode      string `json:"reason_code,omitzero"`
	PlatformOrderID string `json:"platform_order_id,omitzero"`
	PlatformStoreID string `json:"platform_store_id,omitzero"`
}

// OrderStatusPayload is what a call of kind OrderStatus tells.
type OrderStatusPayload struct {
	Status      string `json:"status"` // Acknowledged, Food Ready, Dispatched, Completed or Cancelled
	Message     string `json:"message,omitzero"`
	PrepMinutes int64  `json:"prep_minutes,omitzero"` // until the food is ready; 0: not known
	ReasonCode  string `json:"reason_code,omitzero"`
	At          int64  `json:"at"` // epoch milliseconds
}

// ActionPayload is what a call of kind Action tells.
type ActionPayload struct {
	Action      string `json:"action"`
	Temp        string `json:"temp,omitzero"` // decimal, degrees Fahrenheit
	WearingMask *bool  `json:"wearing_mask,omitzero"`
	Phone       string `json:"phone,omitzero"`
}

// ItemsOOSPayload is what a call of kind ItemsOOS tells.
type ItemsOOSPayload struct {
	RefIDs       []string `json:"ref_ids,omitempty"` // of items that are out of stock
	OptionRefIDs []string `json:"option_ref_ids,omitempty"`
	AllowEdit    bool     `json:"allow_edit"` // the platform may let the customer change the order
	At           int64    `json:"at"`         // epoch milliseconds
}

// Outlet is the store that a call of kind StoreAction or ItemAction is about, and
// the request that it comes of.
type Outlet struct {
	StoreID         int64   `json:"store_id"`
	StoreRefID      string  `json:"store_ref_id"`
	PlatformStoreID string  `json:"platform_store_id,omitzero"`
	Reference       core.ID `json:"reference"`
	Source          string  `json:"source"` // who asked: api, console, presence, timer
	Enable          bool    `json:"enable"`
	At              int64   `json:"at"` // epoch milliseconds
}

// StoreActionPayload is what a call of kind StoreAction tells.
type StoreActionPayload struct{ Outlet }

// ItemActionPayload is what a call of kind ItemAction tells.
type ItemActionPayload struct {
	Outlet
	Items   []core.Switched `json:"items,omitempty"` // those with a reason are not told
	Options []core.Switched `json:"options,omitempty"`
	Version int64           `json:"version"` // of what is published of the store there, once this was stored
}

// Told are the ref_ids of those that are told.
func (p ItemActionPayload) Told() (items, options []string) {
	return refIDs(p.Items), refIDs(p.Options)
}

func refIDs(list []core.Switched) (refs []string) {
	for _, s := range list {
		if s.Reason == "" {
			refs = append(refs, s.RefID)
		}
	}
	return refs
}

// Refusal is an item or option that the aggregator did not switch.
type Refusal struct {
	Entity  string `json:"entity"`
	RefID   string `json:"ref_id"`
	Message string `json:"message"`
}

// Call is a call that is leased to this replica.
type Call struct {
	ID       core.ID // also its idempotency key, the same in every attempt
	Business core.BusinessID
	Platform string
	Plugin   string // that serves the platform; core.ServedByOwn: none does any more
	Endpoint int64  // what fairness goes by: one for each platform of a business
	Line     string
	Kind     Kind
	Order    Order
	Payload  []byte // the JSON of its kind's payload
	Since    time.Time
	Attempts int // finished so far
	DueAt    time.Time
	LeasedTo time.Time
	Version  int64 // of the line, as it was claimed
	Trace    core.Trace
}

// Plan is one request to the aggregator, without address and secrets.
type Plan struct {
	Endpoint string   // name of one of the plugin's endpoints
	Hosts    []string // that the plugin's manifest allows for it; *.example.com stands for all below example.com
	Method   string
	Path     string // begins with a slash, escaped already
	Query    map[string]string
	Headers  map[string]string
	Body     []byte
	Secrets  []SecretHeader
	Success  Success
}

// SecretHeader is a header that carries a secret.
type SecretHeader struct {
	Header, Secret string
	Template       string // holds {secret} once
}

// Success tells an answer's success. An answer that is none is tried again,
// unless its status is among the final ones.
type Success struct {
	Statuses []int  // none: every 2xx
	Pointer  string // RFC 6901, into the answer's body; "": the body does not matter
	Equals   string // what stands there, as JSON
	Final    []int
}

// Decision is a plan, or a reason to send nothing.
type Decision struct {
	Plan *Plan
	Skip string
}

// Response is what the aggregator answered.
type Response struct {
	Status  int
	Headers map[string]string // names in lower case
	Body    []byte            // the first 64 KiB
}

// Outcome is what became of a call by its answer, or by what came later.
type Outcome struct {
	State         OutcomeState // "": the plugin has nothing to say of it
	Message       string
	CustomerPhone string    // of an action that asks for it, and of ItemsOOS: leads to the customer
	Pin           string    // of ItemsOOS: that is asked for behind it
	Refused       []Refusal // of an ItemAction that is done

	// Of what came later: the call that is meant, by its id where the aggregator
	// repeats that, else by the action and the order.
	CallID          core.ID
	Action          string
	PlatformOrderID string
}

// OutcomeState is what an answer means.
type OutcomeState string

// The states of an outcome.
const (
	OutcomeDone    OutcomeState = "done"
	OutcomeFailed  OutcomeState = "failed"  // for good
	OutcomePending OutcomeState = "pending" // the outcome comes later
	OutcomeRetry   OutcomeState = "retry"
)

// Plugins plan calls and read answers. An Invalid error says that the call is
// wrong in itself and will never be planned, NotFound that the plugin tells the
// aggregator nothing of the kind, core.Postponed that another replica has the
// plugin: the call is left to it, and until then none of the platform is taken.
// After a core.Error of Internal, a failure at this very call, it is tried again a few
// times; with any other error the call waits.
type Plugins interface {
	Plan(ctx context.Context, call Call, settings []byte) (Decision, error)
	// Interpret reads an answer; the outcome's state is "" where the plugin does not. Where
	// it fails at one that the plan takes for success, the call is made again.
	Interpret(ctx context.Context, call Call, settings []byte, response Response) (Outcome, error)
}

// Accept is who accepts the orders of a platform.
type Accept string

// Who accepts orders: the hub, as soon as it has stored one, or the POS, when it
// acknowledges one.
const (
	AcceptHub Accept = "hub"
	AcceptPOS Accept = "pos"
)

// ParseAccept reads who accepts orders; Invalid where it is neither.
func ParseAccept(text string) (Accept, error) {
	if accept := Accept(text); accept == AcceptHub || accept == AcceptPOS {
		return accept, nil
	}
	return "", core.Errorf(core.Invalid, "accept: %q must be hub or pos", text)
}

// Access is how a platform of a business is set up: what is needed to reach it,
// and who accepts its orders.
type Access struct {
	Settings  []byte            // a JSON object, or nothing
	Addresses map[string]string // base address by name of endpoint
	Secrets   map[string]string
	Accept    Accept
	Currency  string // of the business, ISO 4217
}

// Platforms knows how the platforms of businesses are reached.
type Platforms interface {
	Access(ctx context.Context, business core.BusinessID, platform string) (Access, error)
}

// Request is a plan with address and secrets.
type Request struct {
	Method, URL string
	Headers     map[string]string
	Secrets     map[string]string // headers whose values are masked in records
	Body        []byte
}

// Sender makes one attempt, within a time of its own.
type Sender interface {
	Send(ctx context.Context, r Request) Attempt
}

// Attempt is the record of one try.
type Attempt struct {
	StartedAt       time.Time
	Method, URL     string
	RequestHeaders  map[string]string // secrets masked
	RequestBody     []byte
	Status          int    // 0 when there was no answer
	ErrorClass      string // "" on success
	Error           string // in plain words
	ResponseHeaders map[string]string
	ResponseBody    []byte
	Took            time.Duration
}

// Answered tells whether the aggregator gave a complete answer, and not that it is
// asked too often (429).
func (a Attempt) Answered() bool {
	complete := a.ErrorClass == "" || a.ErrorClass == "status" || a.ErrorClass == "refused"
	return complete && a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// State is where a call stands.
type State string

// The states of a call. Waiting is also one that was tried and will be again.
const (
	Waiting State = "waiting"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
	Pending State = "pending" // sent; what comes of it is told later

	left State = "left" // to another replica; never recorded
)

// Result is what came of a call that was claimed.
type Result struct {
	Call     Call
	Attempt  *Attempt // nil where nothing was sent
	State    State
	Message  string // why, in plain words
	Outcome  Outcome
	RetryAt  time.Time // of Waiting
	Untried  bool      // of Waiting: it does not count as an attempt
	SparedTo time.Time // until then the aggregator, asked too often, wants no more of the kind; zero: it does not say
	Executed time.Time // when it was decided
}
