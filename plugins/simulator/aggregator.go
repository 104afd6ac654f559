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

// told is what a request of the hub says, whatever its format.
type told struct {
	store  string // of a menu or state: the aggregator's id of the store
	ref    string // of a menu: the merchant's
	order  string
	what   string // what it says, in a word or two
	point  *Point
	id     string // of a request for a customer's contact
	open   *bool  // whether the store takes orders
	listed *bool  // whether customers see the store
	toggle *toggle
	dishes int // of a menu
}

// toggle puts dishes and options on or off.
type toggle struct {
	on              bool
	dishes, options []string
}

// problem is a thing of a request that the aggregator did not take.
type problem struct{ kind, id, code, detail string }

// verdict is what becomes of a request.
type verdict struct {
	kind     verdictKind
	message  string
	problems []problem
	phone    string // the customer's masked number, where it is known at once
	pin      string // that is asked for behind it
	status   int    // of failing
}

type verdictKind int

const (
	taken verdictKind = iota
	awaited
	malformed
	denied
	unknown
	refused
	failing // as a machine fails, not by a rule
)

// statuses are the verdicts in HTTP's words, for those who speak it.
var statuses = map[verdictKind]int{
	taken: http.StatusOK, awaited: http.StatusAccepted, malformed: http.StatusBadRequest,
	denied:  http.StatusUnauthorized,
	unknown: http.StatusNotFound, refused: http.StatusUnprocessableEntity,
}

// takes is a request that an aggregator takes.
type takes struct {
	pattern string // of net/http: method and path below the account's address
	call    Call
	read    func(r *http.Request, body []byte) (told, error)
}

// sent is a message to the hub.
type sent struct {
	call Call
	kind string // of the hub's callback route
	id   string // of the order, as the aggregator calls it
	body []byte
}

// aggregator is one of the three: what it is called, takes, answers and sends.
type aggregator struct {
	Needs
	takes   []takes
	admits  func(r *http.Request, secrets map[string]string) bool
	answer  func(call Call, v verdict) (status int, body any) // no body: nil
	shelf   func(menu []byte, a Account) (Shelf, error)
	order   func(b Basket, a Account) (sent, error)
	cancel  func(id string) sent
	contact func(request, order, phone, failure string) sent            // nil: it has no such action
	sign    func(h http.Header, body []byte, secrets map[string]string) // as its README says
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

// Played lists the aggregators that are played, by their plugins.
func Played() []Needs {
	list := make([]Needs, len(aggregators))
	for i, a := range aggregators {
		list[i] = a.Needs
	}
	return list
}

func playedBy(plugin string) *aggregator {
	if i := slices.IndexFunc(aggregators, func(a *aggregator) bool { return a.Plugin == plugin }); i >= 0 {
		return aggregators[i]
	}
	return nil
}

// same compares a credential with what is expected; an empty one is never right.
func same(given, expected string) bool {
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

// reading is a reader of a body of type T.
func reading[T any](say func(r *http.Request, body T) told) func(*http.Request, []byte) (told, error) {
	return func(r *http.Request, body []byte) (told, error) {
		read, err := strictly[T](body)
		if err != nil {
			return told{}, err
		}
		return say(r, read), nil
	}
}

// cancelReason is why customers cancel.
const cancelReason = "customer changed their mind"

// shortOf says what of an order is out of stock.
func shortOf(mayEdit bool, dishes, options []string) string {
	what := "out of stock: " + strings.Join(slices.Concat(dishes, options), ", ")
	if mayEdit {
		what += "; the customer may edit the order"
	}
	return what
}
