package limit

import (
	"context"
	"net/netip"

	"github.com/servery-hub/servery/core"
)

// Memory is the budget for the bodies of requests, jobs and large responses, in bytes. Each class has its own part, so
// that neither unauthenticated senders nor large bodies block orders, and no upload blocks jobs. Bodies and their
// decoded form are counted separately. A request that waits to decode thus waits only for decoders, which always
// finish. A nil Memory has no bound.
type Memory struct{ budgets [classes]classBudget }

// Class is the kind of sender and body size.
type Class int

// The classes.
const (
	Anonymous Class = iota // of unauthenticated senders
	Small                  // orders, statuses and the like
	Large                  // bulk requests
	Jobs                   // decodes in the part of Large
	Responses              // large responses to reads; they are not decoded
	classes
)

// String returns the name of the class, for metrics.
func (c Class) String() string {
	return [...]string{Anonymous: "open", Small: "small", Large: "large", Jobs: "jobs",
		Responses: "responses"}[c]
}

// classBudget is the budget of a class.
type classBudget struct{ bytes, decoded *pool }

// Bounds of the budget of Anonymous, whatever the size of the hub.
const (
	anonymousBytes   = 16 << 20
	anonymousDecoded = 32 << 20
)

// NewMemory divides total bytes among the classes of requests and jobs. A job of the largest body that can be decoded
// fits the part of Jobs. Responses get an eighth of total in addition.
func NewMemory(total int64) *Memory {
	bytes, decoded := min(total/16, anonymousBytes), min(total/16, anonymousDecoded)
	large := newPool(total/2 - decoded/2)
	return &Memory{[classes]classBudget{
		Anonymous: {newPool(bytes), newPool(decoded)},
		Small:     {newPool(total / 16), newPool(total/8 - decoded/2)},
		Large:     {newPool(total*11/48 - bytes), large},
		Jobs:      {newPool(total / 12), large},
		Responses: {newPool(total / 8), nil}, // in addition to total
	}}
}

// Usage is the state of one part of the budget. Sizes are in bytes.
type Usage struct {
	Class   Class
	Decoded bool // the decoded form; false: the bodies themselves
	Used    int64
	Size    int64
	Refused int64 // requests that found no memory, since the start
}

// Usages returns the state of each part of the budget.
func (m *Memory) Usages() []Usage {
	if m == nil {
		return nil
	}
	var all []Usage
	for class := range m.budgets {
		for decoded, p := range map[bool]*pool{false: m.budgets[class].bytes, true: m.budgets[class].decoded} {
			if Class(class) == Jobs && decoded || p == nil { // the former is counted in Large
				continue
			}
			all = append(all, Usage{Class(class), decoded, p.used.Load(), p.size, p.refused.Load()})
		}
	}
	return all
}

// NewReservation returns an empty share of a class.
func (m *Memory) NewReservation(class Class) Reservation {
	if m == nil {
		return Reservation{}
	}
	return Reservation{budget: &m.budgets[class]}
}

// Sender is whose requests share a part of the memory: a business or, before authentication, a client's network. The
// zero Sender is unknown.
type Sender struct {
	Business core.BusinessID
	Network  netip.Prefix
}

// ReservationOf returns an empty share of a class, for a request of a sender. While other senders lack memory, all
// bodies of a sender together get half of the class, because it may send them slowly. A single larger one gets more.
func (m *Memory) ReservationOf(class Class, sender Sender) Reservation {
	r := m.NewReservation(class)
	r.sender = sender
	return r
}

// Reservation is the part of the budget that one request or job holds.
type Reservation struct {
	budget         *classBudget
	bytes, decoded int64
	sender         Sender
	share          *senderShare // of the sender; nil until it is needed
}

// GrowBytes grows the share to at least n bytes of bodies.
func (s *Reservation) GrowBytes(ctx context.Context, n int64) error {
	if s.budget == nil || n <= s.bytes {
		return nil
	}
	if s.share == nil && s.sender != (Sender{}) {
		s.share = s.budget.bytes.join(s.sender)
	}
	if err := s.budget.bytes.acquire(ctx, s.share, n-s.bytes, n); err != nil {
		return err
	}
	s.bytes = n
	return nil
}

// ShrinkBytes shrinks the share to at most n bytes of bodies.
func (s *Reservation) ShrinkBytes(n int64) {
	if s.budget == nil || n >= s.bytes {
		return
	}
	pool := s.budget.bytes
	pool.release(s.bytes - n)
	if s.share != nil {
		pool.leaveShare(s.share, pool.part(s.bytes)-pool.part(n))
	}
	s.bytes = n
}

// Contention returns a function that reports whether requests of others recently found no memory for their bodies.
func (s *Reservation) Contention() func() bool {
	if s.budget == nil {
		return func() bool { return false }
	}
	pool, sender := s.budget.bytes, s.sender
	return func() bool {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return pool.refusedOthers(sender)
	}
}

// GrowDecoded grows the share to at least n bytes of decoded form.
func (s *Reservation) GrowDecoded(ctx context.Context, n int64) error {
	if s.budget == nil || n <= s.decoded {
		return nil
	}
	if err := s.budget.decoded.acquire(ctx, nil, n-s.decoded, n); err != nil {
		return err
	}
	s.decoded = n
	return nil
}

// ClampBytes returns n, limited to the total for bodies.
func (s *Reservation) ClampBytes(n int64) int64 {
	if s.budget == nil {
		return n
	}
	return min(n, s.budget.bytes.size)
}

// ClampDecoded returns n, limited to the total for decoded form.
func (s *Reservation) ClampDecoded(n int64) int64 {
	if s.budget == nil {
		return n
	}
	return min(n, s.budget.decoded.size)
}

// Release returns the whole share.
func (s *Reservation) Release() {
	if s.budget == nil {
		return
	}
	s.ShrinkBytes(0)
	if s.share != nil {
		s.budget.bytes.leave(s.share)
		s.share = nil
	}
	s.budget.decoded.release(s.decoded)
	s.decoded = 0
}
