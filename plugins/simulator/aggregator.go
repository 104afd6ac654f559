package simulator

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Call is the kind of a request or message between the hub and an aggregator.
type Call string

// The kinds of requests from the hub.
const (
	CallMenu          Call = "menu"
	CallDecision      Call = "decision"
	CallStatus        Call = "status"
	CallRiderStatus   Call = "rider_status"
	CallRiderLocation Call = "rider_location"
	CallAction        Call = "action"
	CallStoreState    Call = "store_state"
	CallItemState     Call = "item_state"
	CallListing       Call = "listing"
	CallItemsOOS      Call = "items_oos"
)

// The kinds of messages to the hub.
const (
	CallOrder    Call = "order"
	CallCancel   Call = "cancel"
	CallCallback Call = "callback" // the later outcome of an action
)

var (
	callsIn = []Call{CallMenu, CallDecision, CallStatus, CallRiderStatus, CallRiderLocation, CallAction,
		CallStoreState, CallItemState, CallListing, CallItemsOOS}
	callsOut = []Call{CallOrder, CallCancel, CallCallback}
)

// update is the content of a request from the hub, independent of its format.
type update struct {
	store        string // the aggregator's id of the store
	storeRef     string // the merchant's ref_id, in a menu
	order        string
	summary      string // short description
	location     *Point
	requestID    string // in a request for a customer's contact
	open         *bool  // the store accepts orders
	listed       *bool  // the store is visible to customers
	pace         *pace  // how busy the store is
	availability *availabilityChange
	itemCount    int // number of items in a menu
}

// pace is how busy a store is.
type pace struct {
	busy    bool
	minutes int64 // the preparation time of new orders; 0: not given
}

// availabilityChange enables or disables items and options.
type availabilityChange struct {
	on             bool
	items, options []string
}

// problem is an object that the aggregator rejected.
type problem struct{ kind, id, code, detail string }

// result is the result of a request.
type result struct {
	kind     resultKind
	message  string
	problems []problem
	phone    string // the customer's masked number, if known at once
	pin      string // to dial after the number
	status   int    // with resultFault
}

type resultKind int

const (
	resultAccepted resultKind = iota
	resultPending
	resultMalformed
	resultUnauthorized
	resultNotFound
	resultRejected
	resultFault // a technical failure
)

// httpStatuses are the HTTP statuses of results.
var httpStatuses = map[resultKind]int{
	resultAccepted: http.StatusOK, resultPending: http.StatusAccepted, resultMalformed: http.StatusBadRequest,
	resultUnauthorized: http.StatusUnauthorized,
	resultNotFound:     http.StatusNotFound, resultRejected: http.StatusUnprocessableEntity,
}

// route is a request that an aggregator supports.
type route struct {
	pattern string // net/http pattern: method and path below the account's URL
	call    Call
	parse   func(r *http.Request, body []byte) (update, error)
}

// message is a message to the hub.
type message struct {
	call Call
	kind string // {kind} of the hub's callback
	id   string // the aggregator's order id
	body []byte
}

// aggregator defines the protocol of a simulated aggregator.
type aggregator struct {
	Needs
	routes          []route
	authorized      func(r *http.Request, secrets map[string]string) bool
	key             func(r *http.Request) string                     // the documented idempotency key
	response        func(call Call, v result) (status int, body any) // body is nil for none
	parseMenu       func(menu []byte, a Account) (Menu, error)
	newOrder        func(b Basket, a Account) (message, error)
	cancelOrder     func(id string) message
	contactCallback func(request, order, phone, failure string) message         // nil: not supported
	sign            func(h http.Header, body []byte, secrets map[string]string) // adds the documented credentials
}

// Needs has the names of the endpoints and secrets that a plugin needs to use the simulator.
type Needs struct {
	Plugin    string
	Endpoints []string
	Outgoing  string // secret in the hub's requests
	Inbound   string // secret in the aggregator's messages
}

var aggregators = []*aggregator{&aggregatorA, &aggregatorB, &aggregatorC}

// Aggregators returns the simulated aggregators.
func Aggregators() []Needs {
	list := make([]Needs, len(aggregators))
	for i, a := range aggregators {
		list[i] = a.Needs
	}
	return list
}

func aggregatorOf(plugin string) *aggregator {
	if i := slices.IndexFunc(aggregators, func(a *aggregator) bool { return a.Plugin == plugin }); i >= 0 {
		return aggregators[i]
	}
	return nil
}

// secretsEqual compares a credential in constant time. An empty expected value never matches.
func secretsEqual(given, expected string) bool {
	return expected != "" && subtle.ConstantTimeCompare([]byte(given), []byte(expected)) == 1
}

// marshal encodes values that cannot fail to encode.
func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("simulator: " + err.Error())
	}
	return text
}

// bodyParser returns a parser for bodies of type T.
func bodyParser[T any](say func(r *http.Request, body T) update) func(*http.Request, []byte) (update, error) {
	return func(r *http.Request, body []byte) (update, error) {
		read, err := decodeStrict[T](body)
		if err != nil {
			return update{}, err
		}
		return say(r, read), nil
	}
}

// cancelReason is the reason of a customer's cancellation.
const cancelReason = "customer changed their mind"

// outOfStockText describes the items of an order that are out of stock.
func outOfStockText(mayEdit bool, items, options []string) string {
	what := "out of stock: " + strings.Join(slices.Concat(items, options), ", ")
	if mayEdit {
		what += "; the customer may edit the order"
	}
	return what
}
