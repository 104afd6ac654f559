package inbound

import (
	"container/list"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Conn is a connection whose peer must make progress. One goroutine at a time may read or write. Any goroutine may
// call Close.
type Conn struct {
	net.Conn
	limiter       *Limiter
	origin        netip.Prefix
	trusted       atomic.Bool // a request with a valid key or session arrived on it
	proven        atomic.Bool // its current request has shown a valid key or session
	waiting       atomic.Bool // in a read or write
	evicted       atomic.Bool
	lingers       atomic.Bool  // Close reads what the peer still sends
	idle          atomic.Bool  // between requests
	idleSince     atomic.Int64 // Unix nanoseconds, while it waits for a request to be proven; otherwise 0 or isEvicted
	read, write   allowance
	readDeadline  time.Time
	writeDeadline time.Time

	// Guarded by the limiter.
	element       *list.Element // in the limiter's list of anonymous or authenticated ones
	originElement *list.Element // in the list of its origin; nil: it is authenticated or has no origin
	business      int64         // of its current request, 0 if that is not counted
	authenticated bool
	removed       bool
}

// isEvicted is the idleSince of a connection that was evicted while it waited.
const isEvicted = -1

func newConn(inner net.Conn, l *Limiter, from netip.Prefix) *Conn {
	c := &Conn{Conn: inner, limiter: l, origin: from}
	c.read, c.write = newAllowance(l.config), newAllowance(l.config)
	return c
}

// MarkAuthenticated records that a valid key or session arrived on a connection. It is then evicted only after all
// others, and only while it waits for a request that has not yet shown one.
func MarkAuthenticated(conn net.Conn) {
	c, ok := conn.(*Conn)
	if !ok {
		return
	}
	c.proven.Store(true)
	if !c.trusted.Swap(true) {
		c.limiter.markAuthenticated(c)
	}
}

// CountRequest counts the current request of a connection among those of a business until it ends. If the business has
// too many in progress, it returns how many it may have, and the caller rejects the request. Otherwise it returns 0.
// Requests of business 0 are not counted.
func CountRequest(conn net.Conn, business int64) (limit int) {
	if c, ok := conn.(*Conn); ok && !c.limiter.beginRequest(c, business) {
		return c.limiter.MaxRequests()
	}
	return 0
}

// BeginRequest records that the first byte of a request has arrived on a connection, and resets the allowance of its
// peer.
func BeginRequest(conn net.Conn) {
	if c, ok := conn.(*Conn); ok {
		c.idle.Store(false)
		c.read, c.write = newAllowance(c.limiter.config), newAllowance(c.limiter.config)
	}
}

// EndRequest records that a request has ended on a connection, which may then be idle.
func EndRequest(conn net.Conn) {
	if c, ok := conn.(*Conn); ok {
		c.idle.Store(true)
		c.proven.Store(false)
		c.limiter.mu.Lock()
		c.limiter.endRequest(c)
		c.limiter.mu.Unlock()
	}
}

// Read reads from the peer. Within a request it fails when the peer's allowance is used up.
func (c *Conn) Read(b []byte) (int, error) {
	began := time.Now()
	deadline := c.readDeadline
	if !c.idle.Load() {
		deadline = earlier(deadline, began.Add(c.read.left))
	}
	if err := c.Conn.SetReadDeadline(deadline); err != nil {
		return 0, c.hideEviction(err)
	}
	since, unproven := began.UnixNano(), !c.proven.Load()
	if unproven {
		c.idleSince.Store(since)
	}
	c.waiting.Store(true)
	n, err := c.Conn.Read(b)
	c.waiting.Store(false)
	if unproven && !c.idleSince.CompareAndSwap(since, 0) {
		return 0, io.EOF // evicted, even if more of the request has just arrived
	}
	if !c.idle.Load() {
		c.read.spend(time.Since(began), n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.limiter.countStalled()
		}
	}
	return n, c.hideEviction(err)
}

// writeChecks is the number of parts into which the wait for a stalled peer is divided. Bytes that the system buffers
// at the start of one part do not count as progress in the next.
const writeChecks = 8

// Write writes to the peer, and fails when the peer's allowance is used up.
func (c *Conn) Write(b []byte) (written int, err error) {
	c.waiting.Store(true)
	defer c.waiting.Store(false)
	for {
		began := time.Now()
		deadline := earlier(c.writeDeadline, began.Add(min(c.write.left, c.write.full/writeChecks)))
		if err := c.Conn.SetWriteDeadline(deadline); err != nil {
			return written, c.hideEviction(err)
		}
		n, err := c.Conn.Write(b[written:])
		written += n
		c.write.spend(time.Since(began), n)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, c.hideEviction(err)
		}
		if c.write.left <= 0 || deadline.Equal(c.writeDeadline) {
			c.limiter.countStalled()
			dropUnsent(c.Conn)
			return written, err
		}
	}
}

// hideEviction replaces the error of an evicted connection with io.EOF, so that the server does not log it.
func (c *Conn) hideEviction(err error) error {
	if err != nil && c.evicted.Load() {
		return io.EOF
	}
	return err
}

// SetDeadline sets the deadline of reads and writes, in addition to the allowance.
func (c *Conn) SetDeadline(t time.Time) error {
	c.readDeadline, c.writeDeadline = t, t
	return nil
}

// SetReadDeadline sets the deadline of reads, in addition to the allowance.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readDeadline = t
	return nil
}

// SetWriteDeadline sets the deadline of writes, in addition to the allowance.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline = t
	return nil
}

// Close closes the connection and stops counting it. After LingerOnClose it first waits for the peer, in the
// background.
func (c *Conn) Close() error {
	half, can := c.Conn.(interface{ CloseWrite() error })
	if c.lingers.CompareAndSwap(true, false) && can && !c.evicted.Load() && half.CloseWrite() == nil {
		go c.linger()
		return nil
	}
	c.limiter.remove(c)
	return c.Conn.Close()
}

// How long a connection that is to be closed reads what its peer still sends, and how much of it.
const (
	lingerTime  = 30 * time.Second
	lingerBytes = 128 << 20
)

// LingerOnClose makes Close wait until the peer has sent all of a body that the hub does not read. Otherwise the system
// would reset the connection. Most clients would then lose the response, which they read after they have sent the body.
func LingerOnClose(conn net.Conn) {
	if c, ok := conn.(*Conn); ok {
		c.lingers.Store(true)
	}
}

// linger discards what the peer sends, until it closes the connection or takes too long. Then it closes it.
func (c *Conn) linger() {
	defer c.Close()
	c.waiting.Store(true) // it may be evicted
	end, discarded := time.Now().Add(lingerTime), make([]byte, 16<<10)
	for read := 0; read < lingerBytes; {
		if c.Conn.SetReadDeadline(earlier(end, time.Now().Add(c.limiter.config.Stall))) != nil {
			return
		}
		n, err := c.Conn.Read(discarded)
		if err != nil {
			return
		}
		read += n
	}
}

// dropUnsent makes Close discard unsent data. Otherwise a peer that does not read would keep it in the system's
// memory.
func dropUnsent(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// allowance is the remaining time to wait for a peer. Waiting uses it up and bytes refill it, so a peer that is
// slower than the rate runs out.
type allowance struct {
	left, full time.Duration
	rate       int
}

func newAllowance(c Config) allowance { return allowance{c.Stall, c.Stall, c.MinRate} }

func (a *allowance) spend(waited time.Duration, n int) {
	a.left = min(a.full, a.left-waited+time.Duration(n)*time.Second/time.Duration(a.rate))
}
