package hub

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStartingHubRejectsRequestsImmediately(t *testing.T) {
	bound, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer bound.Close()
	ready := make(chan struct{})
	listener, done := serveStarting(bound, startingServer(), func() { close(ready) })
	defer done()
	base := "http://" + listener.Addr().String()
	ask := func(method, path string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return &http.Response{}
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return &http.Response{}
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/healthz", 200}, {"GET", "/readyz", 503}, {"POST", storesRoute, 503}} {
		response := ask(c.method, c.path)
		require.Equal(t, c.status, response.StatusCode, c.path)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		checkAgainstOpenAPI(t, request{method: c.method, path: c.path}, response, text)
		if c.status == 503 {
			require.Equal(t, "1", response.Header.Get("Retry-After"))
			require.Contains(t, string(text), "starting")
		}
	}

	select {
	case <-ready:
		t.Fatal("it is not ready before somebody serves")
	default:
	}
	served := make(chan error, 1)
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { served <- server.Serve(listener) }()
	require.Eventually(t, func() bool { return ask("GET", "/readyz").StatusCode == 404 }, time.Minute, time.Millisecond)
	<-ready
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, http.ErrServerClosed)
	_, err = http.Get(base)
	require.Error(t, err, "it is closed for good")
}

// TestStartingHubEndsRequestsThatHang has a server without limits, so that only done can end the connection.
func TestStartingHubEndsRequestsThatHang(t *testing.T) {
	bound, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer bound.Close()
	server, accepted := startingServer(), make(chan struct{})
	server.ReadTimeout, server.WriteTimeout = 0, 0
	server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		close(accepted)
		return ctx
	}
	_, done := serveStarting(bound, server, func() {})
	conn, err := net.Dial("tcp", bound.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /readyz HTTP/1.1\r\n")
	require.NoError(t, err)
	<-accepted
	done()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}
