package hub

import (
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
	listener, done := serveStarting(bound, func() { close(ready) })
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
