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

// refusal is sent to who is not let in. There is no handler that could say more.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"

// Accept returns the next connection that is within the bounds.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			if !exhausted(err) {
				return nil, err
			}
			l.relieve()
			continue
		}
		added, evicted := l.limiter.add(inner)
		if evicted != nil {
			_ = evicted.Conn.Close()
		}
		if added != nil {
			boundUnsent(inner)
			return added, nil
		}
		_ = inner.SetWriteDeadline(time.Now().Add(time.Second)) // it fits into the empty buffer
		_, _ = inner.Write([]byte(refusal))
		_ = inner.Close()
	}
}

// Close stops listening.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// exhausted reports an error that ends one connection at most, not the listener.
func exhausted(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// relieveTime is between two attempts to accept where a process has no file descriptor left.
const relieveTime = 50 * time.Millisecond

// relieve closes a connection that waits for its peer, or else waits a moment.
func (l *listener) relieve() {
	if evicted := l.limiter.evictAny(); evicted != nil {
		_ = evicted.Conn.Close()
	}
	pause := time.NewTimer(relieveTime)
	defer pause.Stop()
	select {
	case <-l.closed:
	case <-pause.C:
	}
}
