package hub

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/servery-hub/servery/web"
)

// serveStarting responds to requests at the listener while the hub is starting. It stops when done is called, or at the
// first Accept of the returned listener, which also calls ready.
func serveStarting(listener *net.TCPListener, ready func()) (_ net.Listener, done func()) {
	server := &http.Server{Handler: web.Starting(), ReadHeaderTimeout: time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(unownedListener{listener})
	}()
	done = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
		_ = listener.SetDeadline(time.Time{})
	})
	return startupListener{listener, sync.OnceFunc(func() {
		done()
		ready()
	})}, done
}

// unownedListener is a listener whose Close does not close the underlying listener.
type unownedListener struct{ *net.TCPListener }

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
