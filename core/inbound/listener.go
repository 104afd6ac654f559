package inbound

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// listener accepts connections within the limits of a Limiter.
type listener struct {
	net.Listener
	limiter *Limiter
	once    sync.Once
	closed  chan struct{}
}

// rejectionResponse is the response to a refused connection. No handler is involved.
const rejectionResponse = "HTTP/1.1 503 Service Unavailable\r\n" +
	"Connection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if !isTemporary(err) {
				return nil, err
			}
			l.freeConnection()
			continue
		}
		added, evicted := l.limiter.add(inner)
		if evicted != nil {
			_ = evicted.Conn.Close()
		}
		if added != nil {
			limitUnsent(inner)
			return added, nil
		}
		_ = inner.SetWriteDeadline(time.Now().Add(time.Second)) // fits into the empty send buffer
		_, _ = inner.Write([]byte(rejectionResponse))
		_ = inner.Close()
	}
}

// Close stops listening.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// isTemporary reports whether an error concerns at most one connection, not the listener.
func isTemporary(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// freeConnectionPause is the delay between attempts to accept when the process has no free file descriptors.
const freeConnectionPause = 50 * time.Millisecond

// freeConnection evicts a connection to free a file descriptor, then waits for a moment.
func (l *listener) freeConnection() {
	if evicted := l.limiter.evictAny(); evicted != nil {
		_ = evicted.Conn.Close()
	}
	pause := time.NewTimer(freeConnectionPause)
	defer pause.Stop()
	select {
	case <-l.closed:
	case <-pause.C:
	}
}
