package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
)

// Memory is the budget for the bodies of requests and jobs, in bytes. Each class has its own part, so that neither
// unauthenticated senders nor large bodies block orders, and no upload blocks jobs. Bodies and their decoded form are
// counted separately. A request that waits to decode thus waits only for decoders, which always finish. A nil Memory
// has no bound.
type Memory struct{ budgets [classes]classBudget }

// Class is the kind of sender and body size.
type Class int

// The classes.
const (
	Anonymous Class = iota // of unauthenticated senders
	Small                  // orders, statuses and the like
	Large                  // bulk requests
	Jobs                   // decodes in the part of Large
	classes
)

// String returns the name of the class, for metrics.
func (c Class) String() string {
	return [...]string{Anonymous: "open", Small: "small", Large: "large", Jobs: "jobs"}[c]
}

// classBudget is the budget of a class.
type classBudget struct{ bytes, decoded *pool }

// Bounds of the budget of Anonymous, whatever the size of the hub.
const (
	anonymousBytes   = 16 << 20
	anonymousDecoded = 32 << 20
)

// NewMemory divides total bytes among the classes. A job of the largest body that can be decoded fits the part of
// Jobs.
func NewMemory(total int64) *Memory {
	bytes, decoded := min(total/16, anonymousBytes), min(total/16, anonymousDecoded)
	large := newPool(total/2 - decoded/2)
	return &Memory{[classes]classBudget{
		Anonymous: {newPool(bytes), newPool(decoded)},
		Small:     {newPool(total / 16), newPool(total/8 - decoded/2)},
		Large:     {newPool(total*11/48 - bytes), large},
		Jobs:      {newPool(total / 12), large},
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
			if Class(class) == Jobs && decoded { // counted in Large
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

// ReservationOf returns an empty share of a class, for a request of a sender. All bodies of a sender together get half
// of the class, because it may send them slowly. A single larger one gets more. The sender must be comparable.
func (m *Memory) ReservationOf(class Class, sender any) Reservation {
	r := m.NewReservation(class)
	r.sender = sender
	return r
}

// Reservation is the part of the budget that one request or job holds.
type Reservation struct {
	budget         *classBudget
	bytes, decoded int64
	sender         any          // nil: none
	share          *senderShare // of the sender; nil until it is needed
}

// GrowBytes grows the share to at least n bytes of bodies.
func (s *Reservation) GrowBytes(ctx context.Context, n int64) error {
	if s.budget == nil || n <= s.bytes {
		return nil
	}
	if s.sender != nil && s.share == nil {
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
	if s.share != nil {
		s.share.Release(pool.part(s.bytes) - pool.part(n))
	}
	pool.release(s.bytes - n)
	s.bytes = n
}

// Contended reports whether other requests recently found no memory for their bodies.
func (s *Reservation) Contended() bool {
	return s.budget != nil && time.Now().UnixNano()-s.budget.bytes.refusedAt.Load() < int64(contention)
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
		s.budget.bytes.leave(s.sender)
		s.share = nil
	}
	s.budget.decoded.release(s.decoded)
	s.decoded = 0
}

// How many requests may wait for a pool or a share of it, and how long: a client's own timeout is not much later.
const (
	maxWaiting = 64
	maxWait    = 2 * time.Second
)

// contention is how long a pool counts as contended after it rejected a request. Its client retries within it.
const contention = 10 * time.Second

// pool is a number of bytes, acquired in first-in, first-out order.
type pool struct {
	size      int64
	free      waitable
	used      atomic.Int64
	refused   atomic.Int64
	refusedAt atomic.Int64 // the last time, in Unix nanoseconds

	mu     sync.Mutex
	shares map[any]*senderShare
}

// senderShare is the half of a pool that one sender may hold.
type senderShare struct {
	waitable
	users int // reservations; guarded by the pool
}

// waitable is a semaphore for which a limited number of requests may wait.
type waitable struct {
	*semaphore.Weighted
	waiting atomic.Int32
}

func newPool(size int64) *pool {
	return &pool{size: size, free: waitable{Weighted: semaphore.NewWeighted(size)}, shares: map[any]*senderShare{}}
}

// part returns how much of its sender's share a reservation of n bytes takes: all of it, if n is more than that.
func (p *pool) part(n int64) int64 { return min(n, p.size/2) }

// join returns the share of a sender. The caller must call leave.
func (p *pool) join(sender any) *senderShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shares[sender]
	if s == nil {
		s = &senderShare{waitable: waitable{Weighted: semaphore.NewWeighted(p.size / 2)}}
		p.shares[sender] = s
	}
	s.users++
	return s
}

func (p *pool) leave(sender any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shares[sender]
	if s.users--; s.users == 0 {
		delete(p.shares, sender)
	}
}

// acquire acquires n bytes, also of the share if it is not nil. The caller then holds total bytes.
func (p *pool) acquire(ctx context.Context, share *senderShare, n, total int64) error {
	if total > p.size {
		return core.Errorf(core.TooLarge,
			"the request body needs more memory than the hub allows for one request: send it in parts")
	}
	part := p.part(total) - p.part(total-n)
	if share != nil && !share.acquire(ctx, part) {
		p.refused.Add(1)
		return errNoMemory()
	}
	if !p.free.acquire(ctx, n) {
		if share != nil {
			share.Release(part)
		}
		p.refused.Add(1)
		p.refusedAt.Store(time.Now().UnixNano())
		return errNoMemory()
	}
	p.used.Add(n)
	return nil
}

func (p *pool) release(n int64) {
	if n > 0 {
		p.used.Add(-n)
		p.free.Release(n)
	}
}

// acquire acquires n bytes, or returns false if they do not become free in time.
func (w *waitable) acquire(ctx context.Context, n int64) bool {
	if n == 0 || w.TryAcquire(n) {
		return true
	}
	defer w.waiting.Add(-1)
	if w.waiting.Add(1) > maxWaiting {
		return false
	}
	// The wait is short, so it does not end with ctx: a server's context may change while a goroutine waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxWait)
	defer cancel()
	return w.Acquire(ctx, n) == nil
}

func errNoMemory() error {
	return &core.Error{Code: core.Unavailable, RetryAfter: time.Second,
		Message: "the hub has no memory for this request now and has not accepted it: resend it"}
}
