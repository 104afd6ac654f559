package browsertest

import (
	"net"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
)

// Serve serves an application on a free local port until the test ends. It returns the base URL.
func Serve(t *testing.T, app *fiber.App) string {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := &closingListener{Listener: plain}
	done := make(chan error, 1)
	go func() { done <- app.Listener(listener) }()
	t.Cleanup(func() {
		listener.closeAll()
		if err := app.ShutdownWithTimeout(timeout); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return "http://" + plain.Addr().String()
}

// closingListener can close its connections. Browsers open spare connections, which would delay the shutdown of
// the server.
type closingListener struct {
	net.Listener
	mu     sync.Mutex
	open   []net.Conn
	closed bool
}

// Accept returns the next connection.
func (c *closingListener) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, connection)
	if c.closed {
		connection.Close()
	}
	return connection, nil
}

func (c *closingListener) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, connection := range c.open {
		connection.Close()
	}
}
