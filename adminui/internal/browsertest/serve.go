package browsertest

import (
	"net"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"
)

// Serve serves an application on a free port of this machine until the test
// ends, and returns its base URL.
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

// closingListener is a listener that can cut its connections off. A browser opens some
// ahead of need, and a server would wait for their first request.
type closingListener struct {
	net.Listener
	mu     sync.Mutex
	open   []net.Conn
	closed bool
}

// Accept waits for the next connection.
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
