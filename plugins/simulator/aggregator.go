package simulator

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Call is what a request or message between the hub and an aggregator is about.
type Call string

// The calls of the hub.
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

// The messages to the hub.
const (
	CallOrder    Call = "order"
	CallCancel   Call = "cancel"
	CallCallback Call = "callback" // the later answer to an action
)

var (
	callsIn = []Call{CallMenu, CallDecision, CallStatus, CallRiderStatus, CallRiderLocation, CallAction,
		CallStoreState, CallItemState, CallListing, CallItemsOOS}
	callsOut = []Call{CallOrder, CallCancel, CallCallback}
)

// update is what a request of the hub says, whatever its format.
type update struct {
	store        string // of a menu or state: the aggregator's id of the store
	storeRef     string // of a menu: the merchant's
	order        string
	summary      string // what it says, in a word or two
	location     *Point
	requestID    string // of a request for a customer's contact
	open         *bool  // whether the store takes orders
	listed       *bool  // whether customers see the store
	availability *availabilityChange
	itemCount    int // of a menu
}

// availabilityChange puts dishes and options on or off.
type availabilityChange struct {
	on             bool
	items, options []string
}

// problem is a thing of a request that the aggregator did not take.
type problem struct{ kind, id, code, detail string }

// result is what becomes of a request.
type result struct {
	kind     resultKind
	message  string
	problems []problem
	phone    string // the customer's masked number, where it is known at once
	pin      string // that is asked for behind it
	status   int    // of failing
}

type resultKind int

const (
	resultAccepted resultKind = iota
	resultPending
	resultMalformed
	resultUnauthorized
	resultNotFound
	resultRejected
	resultFault // as a machine fails, not by a rule
)

// httpStatuses are the verdicts in HTTP's words, for those who speak it.
var httpStatuses = map[resultKind]int{
	resultAccepted: http.StatusOK, resultPending: http.StatusAccepted, resultMalformed: http.StatusBadRequest,
	resultUnauthorized: http.StatusUnauthorized,
	resultNotFound:     http.StatusNotFound, resultRejected: http.StatusUnprocessableEntity,
}

// route is a request that an aggregator takes.
type route struct {
	pattern string // of net/http: method and path below the account's address
	call    Call
	parse   func(r *http.Request, body []byte) (update, error)
}

// message is a message to the hub.
type message struct {
	call Call
	kind string // of the hub's callback route
	id   string // of the order, as the aggregator calls it
	body []byte
}

// aggregator is one of the three: what it is called, takes, answers and sends.
type aggregator struct {
	Needs
	routes          []route
	authorized      func(r *http.Request, secrets map[string]string) bool
	response        func(call Call, v result) (status int, body any) // no body: nil
	parseMenu       func(menu []byte, a Account) (Menu, error)
	newOrder        func(b Basket, a Account) (message, error)
	cancelOrder     func(id string) message
	contactCallback func(request, order, phone, failure string) message         // nil: it has no such action
	sign            func(h http.Header, body []byte, secrets map[string]string) // as its README says
}

// Needs are the names by which a plugin asks for what it needs to reach the
// simulator: endpoints, and secrets in both directions.
type Needs struct {
	Plugin    string
	Endpoints []string
	Outgoing  string // secret of the hub's requests
	Inbound   string // secret of what the aggregator sends
}

var aggregators = []*aggregator{&aggregatorA, &aggregatorB, &aggregatorC}

// Aggregators lists the aggregators that are played, by their plugins.
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

// secretsEqual compares a credential with what is expected; an empty one is never right.
func secretsEqual(given, expected string) bool {
	return expected != "" && subtle.ConstantTimeCompare([]byte(given), []byte(expected)) == 1
}

// marshal writes what is made of texts, numbers and lists, which cannot fail.
func marshal(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic("simulator: " + err.Error())
	}
	return text
}

// bodyParser is a reader of a body of type T.
func bodyParser[T any](say func(r *http.Request, body T) update) func(*http.Request, []byte) (update, error) {
	return func(r *http.Request, body []byte) (update, error) {
		read, err := decodeStrict[T](body)
		if err != nil {
			return update{}, err
		}
		return say(r, read), nil
	}
}

// cancelReason is why customers cancel.
const cancelReason = "customer changed their mind"

// outOfStockText says what of an order is out of stock.
func outOfStockText(mayEdit bool, dishes, options []string) string {
	what := "out of stock: " + strings.Join(slices.Concat(dishes, options), ", ")
	if mayEdit {
		what += "; the customer may edit the order"
	}
	return what
}
