package chaos

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy passes TCP connections on to wherever dial leads at the time, and spoils
// them on demand.
type proxy struct {
	address     string // host:port
	dial        func() (net.Conn, error)
	delay       atomic.Int64 // nanoseconds that every piece waits
	resets      atomic.Int64 // of a thousand pieces so many reset their connection instead,
	truncations atomic.Int64 // so many after their first half,
	stalls      atomic.Int64 // and so many are held up, most of them for longer than hubs wait

	listener net.Listener
	working  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool // nil once it is closed
}

func newProxy(t *testing.T, dial func() (net.Conn, error)) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &proxy{address: listener.Addr().String(), dial: dial, listener: listener, open: map[net.Conn]bool{}}
	w.working.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// dialTo is a way to one address.
func dialTo(network, address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout(network, address, time.Second) }
}

func (w *proxy) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.working.Go(func() {
			defer w.untrack(near)
			if far, err := w.dial(); err == nil && w.track(near, far) {
				defer w.untrack(far)
				w.working.Go(func() { w.copyStream(far, near) })
				w.copyStream(near, far)
			}
		})
	}
}

// copyStream copies until either side ends, which ends both.
func (w *proxy) copyStream(from, to net.Conn) {
	defer w.untrack(from, to)
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if delay := w.delay.Load(); delay > 0 {
				<-time.After(time.Duration(delay)) // the network's slowness is the test's input
			}
			loss, tears := w.resets.Load(), w.truncations.Load()
			switch lot := rand.Int64N(1000); {
			case lot < loss:
				return
			case lot < loss+tears:
				_, _ = to.Write(piece[:n/2])
				return
			case lot < loss+tears+w.stalls.Load():
				<-time.After(time.Second + rand.N(7*time.Second)) // it arrives, when nobody may wait for it any more
			}
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *proxy) track(connections ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range connections {
		if w.open == nil {
			return false
		}
		w.open[c] = true
	}
	return true
}

// untrack resets connections.
func (w *proxy) untrack(connections ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range connections {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		delete(w.open, c)
	}
}

// closeSome resets every connection; new ones are passed on.
func (w *proxy) closeSome() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// close ends the wire and waits for what it has begun.
func (w *proxy) close() {
	_ = w.listener.Close()
	w.closeSome()
	w.mu.Lock()
	w.open = nil
	w.mu.Unlock()
	w.working.Wait()
}
