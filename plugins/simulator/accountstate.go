package simulator

import (
	"slices"
	"sync"
	"time"
)

// Bounds of what is kept of one account.
const (
	maxReceived     = 200
	maxRecordedText = 4 << 10 // of a body, in bytes
	maxOrders       = 20_000
	maxSteps        = 100 // of one order
	maxStores       = 5_000
	maxDisabled     = 5_000 // dishes and options of a store that are off
)

// Received is a request of the hub, or a message to it, as it went.
type Received struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Call    Call      `json:"call,omitempty"` // none: a request that the aggregator does not have
	Sent    bool      `json:"sent,omitempty"` // by the simulator
	Request string    `json:"request"`        // method and path
	Key     string    `json:"key,omitempty"`  // of idempotency, where the request carries one
	Body    string    `json:"body,omitempty"` // its first 4 KiB
	Status  int       `json:"status"`         // of the answer; 0: none
	Answer  string    `json:"answer,omitempty"`
	Problem string    `json:"problem,omitempty"` // why it was refused
	Fault   string    `json:"fault,omitempty"`   // the one that befell it
}

// Order is what the aggregator knows of an order.
type Order struct {
	ID        string    `json:"id"`
	Store     string    `json:"store,omitempty"`    // as the merchant calls it
	HubOrder  int64     `json:"order_id,omitempty"` // as the hub calls it
	PlacedAt  time.Time `json:"placed_at"`
	Elsewhere bool      `json:"elsewhere,omitempty"` // the hub spoke of it; it was not placed here, or is forgotten
	Answer    string    `json:"answer,omitempty"`    // of the hub, to the order
	Decision  string    `json:"decision,omitempty"`
	Missing   string    `json:"missing,omitempty"` // what of it is out of stock
	Status    string    `json:"status,omitempty"`
	Rider     string    `json:"rider,omitempty"`
	Place     *Point    `json:"place,omitempty"`
	Places    int       `json:"places,omitempty"` // how many came
	Steps     []Step    `json:"steps"`            // in the order in which they came, the last 100
}

// Step is something that the aggregator heard of an order.
type Step struct {
	At   time.Time `json:"at"`
	Call Call      `json:"call"`
	What string    `json:"what"`
}

// Store is what the aggregator knows of a store.
type Store struct {
	Code       string    `json:"code"` // the aggregator's
	Ref        string    `json:"ref,omitempty"`
	Open       bool      `json:"open"`
	Unlisted   bool      `json:"unlisted,omitempty"` // taken off by the merchant
	MenuAt     time.Time `json:"menu_at,omitzero"`
	Menus      int       `json:"menus"` // how many came
	Dishes     int       `json:"dishes"`
	Bytes      int       `json:"bytes"`
	OffDishes  []string  `json:"off_dishes,omitempty"`
	OffOptions []string  `json:"off_options,omitempty"`
}

// accountState is what is kept of one account, within bounds: the oldest goes first.
type accountState struct {
	mu       sync.Mutex
	account  Account
	usedAt   time.Time
	lastID   int64
	received []Received
	orders   map[string]*Order
	orderIDs []string // oldest first
	stores   map[string]*Store
	codes    []string // of the stores, the longest known first
}

func newAccountState() *accountState {
	return &accountState{orders: map[string]*Order{}, stores: map[string]*Store{}}
}

// record keeps a request or message.
func (s *accountState) record(r Received) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	r.ID, r.Body, r.Answer, r.Problem = s.lastID, truncate(r.Body, maxRecordedText), truncate(r.Answer, maxRecordedText), truncate(r.Problem, maxRecordedText)
	r.Request = truncate(r.Request, maxRecordedText)
	if len(s.received) == maxReceived {
		s.received = slices.Delete(s.received, 0, 1)
	}
	s.received = append(s.received, r)
}

// order finds an order, or takes note of one that is unknown. The caller holds mu.
func (s *accountState) order(id string, now time.Time) *Order {
	o := s.orders[id]
	if o == nil {
		if len(s.orderIDs) == maxOrders {
			delete(s.orders, s.orderIDs[0])
			s.orderIDs = s.orderIDs[1:]
		}
		o = &Order{ID: id, PlacedAt: now, Elsewhere: true}
		s.orders[id], s.orderIDs = o, append(s.orderIDs, id)
	}
	return o
}

// store likewise.
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

func (o *Order) step(now time.Time, call Call, what string) {
	if len(o.Steps) == maxSteps {
		o.Steps = slices.Delete(o.Steps, 0, 1)
	}
	o.Steps = append(o.Steps, Step{now, call, truncate(what, 200)})
}

// apply takes in what a request says. size is that of a menu.
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
	if t.listed != nil {
		st.Unlisted = !*t.listed
	}
	if call == CallMenu {
		st.Unlisted, st.Ref, st.MenuAt, st.Menus, st.Dishes, st.Bytes = false, t.storeRef, now, st.Menus+1, t.itemCount, size
		st.OffDishes, st.OffOptions = nil, nil // a menu replaces what was there
	}
	if t.availability != nil {
		st.OffDishes = setAvailability(st.OffDishes, t.availability.items, t.availability.on)
		st.OffOptions = setAvailability(st.OffOptions, t.availability.options, t.availability.on)
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
		o.Place, o.Places = t.location, o.Places+1
		return // there may be thousands: the last is enough
	}
	o.step(now, call, what)
}

// setAvailability takes refs out of those that are off, or puts them there.
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
