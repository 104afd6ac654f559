package simulator

import (
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Limits of the state of one account.
const (
	maxReceived     = 200
	maxRecordedText = 4 << 10 // bytes of a body
	maxOrders       = 20_000
	maxSteps        = 100 // per order
	maxStores       = 5_000
	maxDisabled     = 5_000 // disabled items and options per store
)

// Received is a request from the hub or a message to it, as recorded.
type Received struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Call    Call      `json:"call,omitempty"` // "": the aggregator has no such request
	Sent    bool      `json:"sent,omitempty"` // by the simulator
	Request string    `json:"request"`        // method and path
	Key     string    `json:"key,omitempty"`  // idempotency key, if any
	Body    string    `json:"body,omitempty"` // its first 4 KiB
	Status  int       `json:"status"`         // of the response; 0: none
	Answer  string    `json:"answer,omitempty"`
	Problem string    `json:"problem,omitempty"` // why it was rejected
	Fault   string    `json:"fault,omitempty"`   // the fault that was injected
}

// Order is the aggregator's state of an order.
type Order struct {
	ID              string    `json:"id"`
	Store           string    `json:"store,omitempty"`    // the merchant's ref_id
	HubOrder        int64     `json:"order_id,omitempty"` // the hub's order id
	PlacedAt        time.Time `json:"placed_at"`
	PlacedElsewhere bool      `json:"elsewhere,omitempty"` // not placed here, or evicted since
	Answer          string    `json:"answer,omitempty"`    // the hub's response to the order
	Decision        string    `json:"decision,omitempty"`
	Missing         string    `json:"missing,omitempty"` // what is out of stock
	Status          string    `json:"status,omitempty"`
	Rider           string    `json:"rider,omitempty"`
	Location        *Point    `json:"place,omitempty"`
	LocationUpdates int       `json:"places,omitempty"` // number of updates
	Steps           []Step    `json:"steps"`            // oldest first, the last 100
}

// Step is an update of an order.
type Step struct {
	At   time.Time `json:"at"`
	Call Call      `json:"call"`
	What string    `json:"what"`
}

// Store is the aggregator's state of a store.
type Store struct {
	Code            string    `json:"code"` // the aggregator's store id
	Ref             string    `json:"ref,omitempty"`
	Open            bool      `json:"open"`
	Unlisted        bool      `json:"unlisted,omitempty"` // removed by the merchant
	Busy            bool      `json:"busy,omitempty"`
	PrepMinutes     int64     `json:"prep_minutes,omitempty"` // of a busy store; 0: not given
	MenuAt          time.Time `json:"menu_at,omitzero"`
	Menus           int       `json:"menus"` // number of menus received
	Items           int       `json:"dishes"`
	Bytes           int       `json:"bytes"`
	DisabledItems   []string  `json:"off_dishes,omitempty"`
	DisabledOptions []string  `json:"off_options,omitempty"`
}

// accountState is the state of one account. Its lists are bounded, and the oldest entries are dropped first.
type accountState struct {
	mu       sync.Mutex
	account  Account
	usedAt   time.Time
	lastID   int64
	received []Received
	orders   map[string]*Order
	orderIDs []string // oldest first
	stores   map[string]*Store
	codes    []string // of the stores, oldest first
}

func newAccountState() *accountState {
	return &accountState{orders: map[string]*Order{}, stores: map[string]*Store{}}
}

// record adds a request or message.
func (s *accountState) record(r Received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	r.ID, r.Body, r.Answer = s.lastID, sdk.Truncate(r.Body, maxRecordedText), sdk.Truncate(r.Answer, maxRecordedText)
	r.Problem = sdk.Truncate(r.Problem, maxRecordedText)
	r.Request = sdk.Truncate(r.Request, maxRecordedText)
	if len(s.received) == maxReceived {
		s.received = slices.Delete(s.received, 0, 1)
	}
	s.received = append(s.received, r)
}

// order returns an order, and creates it if it is unknown. The caller holds mu.
func (s *accountState) order(id string, now time.Time) *Order {
	o := s.orders[id]
	if o == nil {
		if len(s.orderIDs) == maxOrders {
			delete(s.orders, s.orderIDs[0])
			s.orderIDs = s.orderIDs[1:]
		}
		o = &Order{ID: id, PlacedAt: now, PlacedElsewhere: true}
		s.orders[id], s.orderIDs = o, append(s.orderIDs, id)
	}
	return o
}

// store returns a store, and creates it if it is unknown. The caller holds mu.
func (s *accountState) store(code string) *Store {
	st := s.stores[code]
	if st == nil {
		if len(s.codes) == maxStores {
			delete(s.stores, s.codes[0])
			s.codes = s.codes[1:]
		}
		st = &Store{Code: code, Open: true}
		s.stores[code], s.codes = st, append(s.codes, code)
	}
	return st
}

// find returns a copy of a store by its ref_id or its code. An unknown store is open and has no menu.
func (s *accountState) find(store string) Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stores {
		if st.Ref == store || st.Code == store {
			return st.clone()
		}
	}
	return Store{Code: store, Open: true}
}

func (o *Order) step(now time.Time, call Call, what string) {
	if len(o.Steps) == maxSteps {
		o.Steps = slices.Delete(o.Steps, 0, 1)
	}
	o.Steps = append(o.Steps, Step{now, call, sdk.Truncate(what, 200)})
}

// apply applies a request. size is that of a menu, in bytes.
func (s *accountState) apply(call Call, t update, size int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.order != "" {
		s.applyToOrder(call, t, now)
		return
	}
	st := s.store(t.store)
	if t.open != nil {
		st.Open = *t.open
	}
	if t.pace != nil {
		st.Busy, st.PrepMinutes = t.pace.busy, t.pace.minutes
	}
	if t.listed != nil {
		st.Unlisted = !*t.listed
	}
	if call == CallMenu {
		st.Unlisted, st.Ref, st.MenuAt, st.Menus = false, t.storeRef, now, st.Menus+1
		st.Items, st.Bytes = t.itemCount, size
		st.DisabledItems, st.DisabledOptions = nil, nil // a menu replaces all state of its items
	}
	if t.availability != nil {
		st.DisabledItems = setAvailability(st.DisabledItems, t.availability.items, t.availability.on)
		st.DisabledOptions = setAvailability(st.DisabledOptions, t.availability.options, t.availability.on)
	}
}

func (s *accountState) applyToOrder(call Call, t update, now time.Time) {
	o := s.order(t.order, now)
	what := t.summary
	switch call {
	case CallDecision:
		o.Decision = what
	case CallStatus:
		o.Status = what
	case CallItemsOOS:
		o.Missing = what
	case CallRiderStatus:
		o.Rider = what
	case CallRiderLocation:
		o.Location, o.LocationUpdates = t.location, o.LocationUpdates+1
		return // there can be thousands; only the last is stored
	}
	o.step(now, call, what)
}

// setAvailability removes refs from the disabled ones, or adds them.
func setAvailability(off, refs []string, on bool) []string {
	for _, ref := range refs {
		if at := slices.Index(off, ref); on && at >= 0 {
			off = slices.Delete(off, at, at+1)
		} else if !on && at < 0 && len(off) < maxDisabled {
			off = append(off, ref)
		}
	}
	return off
}
