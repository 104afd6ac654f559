package inbound

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// listener accepts connections within the bounds of a limiter.
type listener struct {
	net.Listener
	limiter *Limiter
	once    sync.Once
	closed  chan struct{}
}

// rejectionResponse is sent to who is not let in. There is no handler that could say more.
const rejectionResponse = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"

// Accept returns the next connection that is within the bounds.
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
		_ = inner.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the empty buffer
		_, _ = inner.Write([]byte(rejectionResponse))
		_ = inner.Close()
	}
}

// Close stops listening.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// isTemporary reports an error that ends one connection at most, not the listener.
func isTemporary(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// freeConnectionPause is between two attempts to accept where a process has no file descriptor left.
const freeConnectionPause = 50 * time.Millisecond

// freeConnection closes a connection that waits for its peer, or else waits a moment.
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
