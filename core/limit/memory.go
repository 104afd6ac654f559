package limit

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
)

// Memory is the budget for the bodies of requests and jobs, in bytes. Each class has its own part, so that neither
// unauthenticated senders nor large bodies block orders. Bodies and their decoded form are counted separately. A
// request that waits to decode thus waits only for decoders, which always finish. A nil Memory has no bound.
type Memory struct{ budgets [classes]classBudget }

// Class is the kind of sender and body size.
type Class int

// The classes.
const (
	Anonymous Class = iota // of unauthenticated senders
	Small                  // orders, statuses and the like
	Large                  // bulk requests, and jobs
	classes
)

// String returns the name of the class, for metrics.
func (c Class) String() string {
	return [...]string{Anonymous: "open", Small: "small", Large: "large"}[c]
}

// classBudget is the budget of a class.
type classBudget struct{ bytes, decoded *pool }

// Bounds of the budget of Anonymous, whatever the size of the hub.
const (
	anonymousBytes   = 16 << 20
	anonymousDecoded = 32 << 20
)

// NewMemory divides total bytes among the classes.
func NewMemory(total int64) *Memory {
	bytes, decoded := min(total/16, anonymousBytes), min(total/16, anonymousDecoded)
	return &Memory{[classes]classBudget{
		Anonymous: {newPool(bytes), newPool(decoded)},
		Small:     {newPool(total / 16), newPool(total/8 - decoded/2)},
		Large:     {newPool(total/4 - bytes), newPool(total/2 - decoded/2)},
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

// Reservation is the part of the budget that one request or job holds.
type Reservation struct {
	budget         *classBudget
	bytes, decoded int64
}

// GrowBytes grows the share to at least n bytes of bodies.
func (s *Reservation) GrowBytes(ctx context.Context, n int64) error {
	if s.budget == nil || n <= s.bytes {
		return nil
	}
	if err := s.budget.bytes.acquire(ctx, n-s.bytes, n); err != nil {
		return err
	}
	s.bytes = n
	return nil
}

// GrowDecoded grows the share to at least n bytes of decoded form.
func (s *Reservation) GrowDecoded(ctx context.Context, n int64) error {
	if s.budget == nil || n <= s.decoded {
		return nil
	}
	if err := s.budget.decoded.acquire(ctx, n-s.decoded, n); err != nil {
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
	s.budget.bytes.release(s.bytes)
	s.budget.decoded.release(s.decoded)
	s.bytes, s.decoded = 0, 0
}

// How many requests may wait for a pool, and how long: a client's own timeout is not much later.
const (
	maxWaiting = 64
	maxWait    = 2 * time.Second
)

// pool is a number of bytes, acquired in first-in, first-out order.
type pool struct {
	size    int64
	sem     *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int32
	refused atomic.Int64
}

func newPool(size int64) *pool { return &pool{size: size, sem: semaphore.NewWeighted(size)} }

// acquire acquires n bytes. The caller then holds total bytes.
func (p *pool) acquire(ctx context.Context, n, total int64) error {
	if total > p.size {
		return core.Errorf(core.TooLarge,
			"the request body needs more memory than the hub allows for one request: send it in parts")
	}
	if p.sem.TryAcquire(n) {
		p.used.Add(n)
		return nil
	}
	if p.waiting.Add(1) <= maxWaiting {
		defer p.waiting.Add(-1)
		// The wait is short, so it does not end with ctx: a server's context may change while a goroutine waits for it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxWait)
		defer cancel()
		if p.sem.Acquire(ctx, n) == nil {
			p.used.Add(n)
			return nil
		}
	} else {
		p.waiting.Add(-1)
	}
	p.refused.Add(1)
	return &core.Error{Code: core.Unavailable, RetryAfter: time.Second,
		Message: "the hub has no memory for this request now and has not accepted it: resend it"}
}

func (p *pool) release(n int64) {
	if n > 0 {
		p.used.Add(-n)
		p.sem.Release(n)
	}
}
