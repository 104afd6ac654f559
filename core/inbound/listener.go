package inbound

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
)

// listener accepts connections within the limits of a Limiter.
type listener struct {
	net.Listener
	limiter *Limiter
	once    sync.Once
	closed  chan struct{}
}

const rejectionBody = `{"status":"error","message":"too many connections: resend the request"}`

// rejectionResponse returns the response to a refused connection. No handler is involved.
func rejectionResponse(now time.Time) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"+
		"Content-Type: application/json; charset=utf-8\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s",
		core.NewID(now), len(rejectionBody), rejectionBody)
}

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
		now := time.Now()
		_ = inner.SetWriteDeadline(now.Add(time.Second)) // fits into the empty send buffer
		_, _ = inner.Write(rejectionResponse(now))
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
