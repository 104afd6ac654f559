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

// Conn is a connection whose peer must make progress. Reads and writes are made by one
// goroutine at a time; Close may be called by any.
type Conn struct {
	net.Conn
	limiter       *Limiter
	origin        netip.Prefix
	trusted       atomic.Bool // a key or a session was accepted on it
	waiting       atomic.Bool // for its peer
	evicted       atomic.Bool
	idle          bool // between requests
	read, write   allowance
	readDeadline  time.Time
	writeDeadline time.Time

	// Guarded by the limiter.
	anonymousElement, originElement *list.Element
	removed                         bool
}

func newConn(inner net.Conn, l *Limiter, from netip.Prefix) *Conn {
	c := &Conn{Conn: inner, limiter: l, origin: from}
	c.read, c.write = newAllowance(l.config), newAllowance(l.config)
	return c
}

// MarkAuthenticated records that a key or a session was accepted on a connection: it is not
// closed in favour of new ones.
func MarkAuthenticated(conn net.Conn) {
	if c, ok := conn.(*Conn); ok && !c.trusted.Swap(true) {
		c.limiter.markAuthenticated(c)
	}
}

// BeginRequest records that a request begins on a connection: its peer has its whole allowance.
func BeginRequest(conn net.Conn) {
	if c, ok := conn.(*Conn); ok {
		c.idle = false
		c.read, c.write = newAllowance(c.limiter.config), newAllowance(c.limiter.config)
	}
}

// EndRequest records that a request has ended on a connection: it may be idle until the next.
func EndRequest(conn net.Conn) {
	if c, ok := conn.(*Conn); ok {
		c.idle = true
	}
}

// Read reads what the peer has sent. Within a request it waits no longer than the peer's
// allowance lasts.
func (c *Conn) Read(b []byte) (int, error) {
	began := time.Now()
	deadline := c.readDeadline
	if !c.idle {
		deadline = earlier(deadline, began.Add(c.read.left))
	}
	if err := c.Conn.SetReadDeadline(deadline); err != nil {
		return 0, c.hideEviction(err)
	}
	c.waiting.Store(true)
	n, err := c.Conn.Read(b)
	c.waiting.Store(false)
	if !c.idle {
		c.read.spend(time.Since(began), n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.limiter.countStalled()
		}
	}
	return n, c.hideEviction(err)
}

// writeChecks is into how many parts the wait for a peer that stalls is cut. Bytes that the system
// took at the beginning of a part are no progress in the next.
const writeChecks = 8

// Write sends to the peer for as long as the peer's allowance lasts.
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

// hideEviction makes the end of a connection that was evicted an ordinary one.
func (c *Conn) hideEviction(err error) error {
	if err != nil && c.evicted.Load() {
		return io.EOF
	}
	return err
}

// SetDeadline bounds reads and writes, beside the peer's allowance.
func (c *Conn) SetDeadline(t time.Time) error {
	c.readDeadline, c.writeDeadline = t, t
	return nil
}

// SetReadDeadline bounds reads, beside the peer's allowance.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readDeadline = t
	return nil
}

// SetWriteDeadline bounds writes, beside the peer's allowance.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline = t
	return nil
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.limiter.remove(c)
	return c.Conn.Close()
}

// dropUnsent has a connection drop what it has not sent yet when it is closed: a peer that
// does not read would keep it in the system's memory.
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

// allowance is how long a peer may still be waited for. Waiting uses it up and bytes
// refill it: who is slower than the rate runs out of it.
type allowance struct {
	left, full time.Duration
	rate       int
}

func newAllowance(c Config) allowance { return allowance{c.Stall, c.Stall, c.MinRate} }

func (a *allowance) spend(waited time.Duration, n int) {
	a.left = min(a.full, a.left-waited+time.Duration(n)*time.Second/time.Duration(a.rate))
}
