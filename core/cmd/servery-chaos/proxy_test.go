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

// proxy forwards TCP connections to the current target, and can disturb them.
type proxy struct {
	address     string // host:port
	dial        func() (net.Conn, error)
	delay       atomic.Int64 // delay of each chunk, in nanoseconds
	resets      atomic.Int64 // per mille of chunks that reset their connection
	truncations atomic.Int64 // per mille of chunks that are truncated before a reset
	stalls      atomic.Int64 // per mille of chunks that stall, mostly for longer than the timeouts of hubs

	listener net.Listener
	working  sync.WaitGroup
	mu       sync.Mutex
	open     map[net.Conn]bool // nil after close
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

// dialTo returns a dialer for one address.
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

// copyStream copies until one side closes, and then closes both.
func (w *proxy) copyStream(from, to net.Conn) {
	defer w.untrack(from, to)
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if delay := w.delay.Load(); delay > 0 {
				<-time.After(time.Duration(delay)) // network latency is an input of the test
			}
			resets, truncations := w.resets.Load(), w.truncations.Load()
			switch rng := rand.Int64N(1000); {
			case rng < resets:
				return
			case rng < resets+truncations:
				_, _ = to.Write(piece[:n/2])
				return
			case rng < resets+truncations+w.stalls.Load():
				<-time.After(time.Second + rand.N(7*time.Second)) // the receiver may have timed out by then
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

// untrack closes connections with a reset.
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

// closeSome resets every open connection. New ones are forwarded.
func (w *proxy) closeSome() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// close stops the proxy and waits for its goroutines.
func (w *proxy) close() {
	_ = w.listener.Close()
	w.closeSome()
	w.mu.Lock()
	w.open = nil
	w.mu.Unlock()
	w.working.Wait()
}
