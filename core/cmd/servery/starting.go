package main

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/servery-hub/servery/web"
)

// greet has whoever comes to the listener told that the hub starts, until done is
// called, or somebody accepts connections from the listener that it returns: ready is
// called then, and not before.
func greet(listener *net.TCPListener, ready func()) (_ net.Listener, done func()) {
	server := &http.Server{Handler: web.Starting(), ReadHeaderTimeout: time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(lent{listener})
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
	return greeted{listener, sync.OnceFunc(func() {
		done()
		ready()
	})}, done
}

// lent is a listener that stays open when who has borrowed it closes it.
type lent struct{ *net.TCPListener }

// Close ends Accept.
func (l lent) Close() error { return l.SetDeadline(time.Now()) }

// greeted is a listener at which somebody else answers until it is first used.
type greeted struct {
	*net.TCPListener
	begin func()
}

// Accept waits for the next connection.
func (g greeted) Accept() (net.Conn, error) {
	g.begin()
	return g.TCPListener.Accept()
}
