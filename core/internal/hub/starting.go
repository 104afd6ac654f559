package hub

import (
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/servery-hub/servery/web"
)

// startingServer returns the server of a hub that is starting.
func startingServer() *http.Server {
	return &http.Server{Handler: web.Starting(), ReadTimeout: time.Second, WriteTimeout: time.Second}
}

// serveStarting responds to requests at the listener while the hub is starting. It stops when done is called, or at the
// first Accept of the returned listener, which also calls ready.
func serveStarting(listener *net.TCPListener, server *http.Server, ready func()) (_ net.Listener, done func()) {
	// Server.Shutdown would close a connection whose first request it has not read yet. Instead, each connection has
	// one response, and those that were accepted are served to their end, for a second at most after done.
	var open sync.WaitGroup
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Done()
		}
	}
	server.SetKeepAlivesEnabled(false)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(unownedListener{listener})
		open.Wait()
	}()
	done = sync.OnceFunc(func() {
		_ = listener.SetDeadline(time.Now())
		timer := time.AfterFunc(time.Second, func() { _ = server.Close() })
		defer timer.Stop()
		<-ended
		_ = server.Close()
		_ = listener.SetDeadline(time.Time{})
	})
	return startupListener{listener, sync.OnceFunc(func() {
		done()
		ready()
	})}, done
}

// unownedListener is a listener whose Close does not close the underlying listener. A deadline ends it.
type unownedListener struct{ *net.TCPListener }

// Accept returns net.ErrClosed after the deadline, because a server retries a timeout.
func (l unownedListener) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, net.ErrClosed
	}
	return conn, err
}

// Close interrupts Accept.
func (l unownedListener) Close() error { return l.SetDeadline(time.Now()) }

// startupListener is a listener that calls onAccept before each Accept.
type startupListener struct {
	*net.TCPListener
	onAccept func()
}

// Accept waits for the next connection.
func (g startupListener) Accept() (net.Conn, error) {
	g.onAccept()
	return g.TCPListener.Accept()
}
