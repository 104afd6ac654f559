package limit

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
)

// Memory is the budget for the bodies of requests and jobs, in bytes. Each class has
// a part of its own, so that neither strangers nor large bodies keep orders out. Bytes
// and what they are decoded into are counted apart: who waits to decode waits only
// for decoders, which end by themselves. A nil Memory has no bound.
type Memory struct{ parts [classes]part }

// Class says whose body it is, and how large it may be.
type Class int

// The classes.
const (
	Open  Class = iota // of senders not known yet
	Small              // orders, statuses and the like
	Large              // bulk requests, and jobs
	classes
)

// part is the budget of a class.
type part struct{ bytes, decoded *pool }

// Bounds of the budget of Open: strangers get no more, however large the hub is.
const (
	openBytes   = 16 << 20
	openDecoded = 32 << 20
)

// NewMemory divides total bytes among the classes.
func NewMemory(total int64) *Memory {
	bytes, decoded := min(total/16, openBytes), min(total/16, openDecoded)
	return &Memory{[classes]part{
		Open:  {newPool(bytes), newPool(decoded)},
		Small: {newPool(total / 16), newPool(total/8 - decoded/2)},
		Large: {newPool(total/4 - bytes), newPool(total/2 - decoded/2)},
	}}
}

// Ask begins a share of a class that holds nothing yet.
func (m *Memory) Ask(class Class) Share {
	if m == nil {
		return Share{}
	}
	return Share{part: &m.parts[class]}
}

// Share is what one request or job holds of the budget.
type Share struct {
	part           *part
	bytes, decoded int64
}

// Bytes makes the share hold at least n bytes of bodies.
func (s *Share) Bytes(ctx context.Context, n int64) error {
	if s.part == nil || n <= s.bytes {
		return nil
	}
	if err := s.part.bytes.take(ctx, n-s.bytes, n); err != nil {
		return err
	}
	s.bytes = n
	return nil
}

// Decoded makes the share hold at least n bytes of what bodies are decoded into.
func (s *Share) Decoded(ctx context.Context, n int64) error {
	if s.part == nil || n <= s.decoded {
		return nil
	}
	if err := s.part.decoded.take(ctx, n-s.decoded, n); err != nil {
		return err
	}
	s.decoded = n
	return nil
}

// AtMostBytes is n, or all that there is for bodies where that is less.
func (s *Share) AtMostBytes(n int64) int64 {
	if s.part == nil {
		return n
	}
	return min(n, s.part.bytes.size)
}

// AtMostDecoded is n, or all that there is for decoding where that is less.
func (s *Share) AtMostDecoded(n int64) int64 {
	if s.part == nil {
		return n
	}
	return min(n, s.part.decoded.size)
}

// Release gives everything back.
func (s *Share) Release() {
	if s.part == nil {
		return
	}
	s.part.bytes.give(s.bytes)
	s.part.decoded.give(s.decoded)
	s.bytes, s.decoded = 0, 0
}

// How many may wait for a pool, and for how long: later the caller has given up.
const (
	maxWaiting = 64
	longestFor = 2 * time.Second
)

// pool is a number of bytes, given out in the order in which they were asked for.
type pool struct {
	size    int64
	free    *semaphore.Weighted
	waiting atomic.Int32
}

func newPool(size int64) *pool { return &pool{size: size, free: semaphore.NewWeighted(size)} }

// take takes n bytes, of whole that the caller holds then.
func (p *pool) take(ctx context.Context, n, whole int64) error {
	if whole > p.size {
		return core.Errorf(core.TooLarge, "the request body needs more memory than this hub has for one request: send it in parts")
	}
	if p.free.TryAcquire(n) {
		return nil
	}
	if p.waiting.Add(1) <= maxWaiting {
		defer p.waiting.Add(-1)
		ctx, cancel := context.WithTimeout(ctx, longestFor)
		defer cancel()
		if p.free.Acquire(ctx, n) == nil {
			return nil
		}
	} else {
		p.waiting.Add(-1)
	}
	return &core.Error{Code: core.Unavailable, RetryAfter: time.Second,
		Message: "the hub has no memory left for this request now, and has not accepted it; send it again"}
}

func (p *pool) give(n int64) {
	if n > 0 {
		p.free.Release(n)
	}
}
