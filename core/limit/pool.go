package limit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/servery-hub/servery/core"
)

// How many requests may wait for a pool or a share of it, and how long: a client's own timeout is not much later.
const (
	maxWaiting = 64
	maxWait    = 2 * time.Second
)

// contention is how long a pool counts as contended after it rejected a request. Its client retries within it.
const contention = 10 * time.Second

// pool is a number of bytes, acquired in first-in, first-out order.
type pool struct {
	size    int64
	free    *semaphore.Weighted
	used    atomic.Int64
	refused atomic.Int64

	mu       sync.Mutex // guards the rest, and the shares
	waiting  int        // requests that wait for free bytes
	refusals [2]refusal // the last one, and the last one of another sender
	shares   map[Sender]*senderShare
}

// refusal is when a sender found no free bytes.
type refusal struct {
	sender Sender
	at     time.Time
}

// senderShare is what one sender holds of a pool.
type senderShare struct {
	sender      Sender
	users       int // reservations
	held        int64
	waiting     int           // requests that wait for free bytes of the pool
	waitingHere int           // requests that wait for the share
	released    chan struct{} // closed when the sender releases bytes
}

func newPool(size int64) *pool {
	return &pool{size: size, free: semaphore.NewWeighted(size), shares: map[Sender]*senderShare{}}
}

// part returns how much of its sender's share a reservation of n bytes takes: all of it, if n is more than that.
func (p *pool) part(n int64) int64 { return min(n, p.size/2) }

// join returns the share of a sender. The caller must call leave.
func (p *pool) join(sender Sender) *senderShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shares[sender]
	if s == nil {
		s = &senderShare{sender: sender, released: make(chan struct{})}
		p.shares[sender] = s
	}
	s.users++
	return s
}

func (p *pool) leave(s *senderShare) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(p.shares, s.sender)
	}
}

// acquire acquires n bytes, also of the share if it is not nil. The caller then holds total bytes.
func (p *pool) acquire(ctx context.Context, share *senderShare, n, total int64) error {
	if total > p.size {
		return core.Errorf(core.TooLarge,
			"the request body needs more memory than the hub allows for one request: send it in parts")
	}
	part := p.part(total) - p.part(total-n)
	entered := share == nil || p.enterShare(share, part)
	if entered && p.free.TryAcquire(n) {
		p.used.Add(n)
		return nil
	}
	// The wait is short, so it does not end with ctx: a server's context may change while a goroutine waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxWait)
	defer cancel()
	entered = entered || p.awaitShare(ctx, share, part)
	if entered && p.awaitFree(ctx, share, n) {
		p.used.Add(n)
		return nil
	}
	if entered && share != nil {
		p.leaveShare(share, part)
	}
	p.refused.Add(1)
	return &core.Error{Code: core.Unavailable, RetryAfter: time.Second,
		Message: "the hub has no memory for this request now and has not accepted it: resend it"}
}

// awaitFree acquires n bytes, or returns false if they do not become free in time.
func (p *pool) awaitFree(ctx context.Context, share *senderShare, n int64) bool {
	if share == nil {
		share = &senderShare{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting < maxWaiting {
		p.waiting++
		share.waiting++
		p.mu.Unlock()
		err := p.free.Acquire(ctx, n)
		p.mu.Lock()
		p.waiting--
		share.waiting--
		if err == nil {
			return true
		}
	}
	if p.refusals[0].sender != share.sender {
		p.refusals[1] = p.refusals[0]
	}
	p.refusals[0] = refusal{share.sender, time.Now()}
	return false
}

func (p *pool) release(n int64) {
	if n > 0 {
		p.used.Add(-n)
		p.free.Release(n)
	}
}

// enterShare adds n bytes to a share. It returns false if that is then more than half of the pool and others lack
// bytes.
func (p *pool) enterShare(share *senderShare, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.enterLocked(share, n)
}

func (p *pool) enterLocked(share *senderShare, n int64) bool {
	fits := n == 0 || share.held+n <= p.size/2
	if !fits && (p.waiting > share.waiting || p.refusedOthers(share.sender)) {
		return false
	}
	share.held += n
	return true
}

// awaitShare is enterShare, but waits until the sender has released enough. It returns false if that takes too long.
func (p *pool) awaitShare(ctx context.Context, share *senderShare, n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if share.waitingHere >= maxWaiting {
		return false
	}
	share.waitingHere++
	defer func() { share.waitingHere-- }()
	for !p.enterLocked(share, n) {
		released := share.released
		p.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}

// refusedOthers reports whether another sender recently found no free bytes. Unknown senders are different ones.
func (p *pool) refusedOthers(sender Sender) bool {
	last := p.refusals[0]
	if last.sender == sender && sender != (Sender{}) {
		last = p.refusals[1]
	}
	return time.Since(last.at) < contention
}

// leaveShare takes n bytes from a share.
func (p *pool) leaveShare(share *senderShare, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	share.held -= n
	if share.waitingHere > 0 {
		close(share.released)
		share.released = make(chan struct{})
	}
}
