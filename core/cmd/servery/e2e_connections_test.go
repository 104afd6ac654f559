package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// dial connects to a hub from a local address.
func dial(t *testing.T, hub, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: waitTimeout}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(hub, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waitTimeout)))
	return conn
}

// connect connects to a hub from a local address and sends a text.
func connect(t *testing.T, hub, from, text string) net.Conn {
	conn := dial(t, hub, from)
	_, err := conn.Write([]byte(text))
	require.NoError(t, err)
	return conn
}

func TestHubBoundsItsConnections(t *testing.T) {
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", openDir(t), "SERVERY_TRUSTED_PROXIES",
		"::1/128",
		"SERVERY_MAX_CONNECTIONS_PER_ADDRESS", "4", "SERVERY_STALL_TIMEOUT", "500ms")
	hub := startHub(t, env)
	who := newAPIClient(t, env)

	const half = "POST /channel/api/v1/aggregator-a/callback/order/ HTTP/1.1\r\nHost: hub\r\n" +
		"Content-Length: 1048576\r\n\r\n"
	var halves []net.Conn
	for range 4 {
		conn := dial(t, hub.URL, "127.0.0.2")
		_, _ = conn.Write([]byte(half + strings.Repeat("x", 1<<20-1))) // the hub may close it before the end
		halves = append(halves, conn)
	}
	for _, conn := range halves {
		_, err := io.Copy(io.Discard, conn)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "a body that lacks a byte is waited for")
	}

	var known []net.Conn
	for range 4 {
		conn := connect(t, hub.URL, "127.0.0.3",
			"GET "+webhooksPath+" HTTP/1.1\r\nHost: hub\r\nAuthorization: "+who.authorization+"\r\n\r\n")
		_, err := conn.Read(make([]byte, 1))
		require.NoError(t, err)
		known = append(known, conn)
	}
	rejected := connect(t, hub.URL, "127.0.0.3", "")
	text, err := io.ReadAll(rejected)
	require.NoError(t, err)
	require.Contains(t, string(text), "503 Service Unavailable")

	figures := hubtest.Call(t, http.MethodGet, hub.URL+"/metrics", "", nil)
	require.Contains(t, string(figures.Body), `servery_client_connections{state="authenticated"} 4`)
	require.Contains(t, string(figures.Body), `servery_client_connections_refused_total{limit="address"} 1`)
	require.Contains(t, string(figures.Body), `servery_client_connections_closed_total{reason="stalled"} 4`)
	require.Zero(t, hub.Terminate(t), "open connections do not keep it from stopping")
	for _, conn := range known {
		_, err := io.Copy(io.Discard, conn)
		require.NoError(t, err)
	}
}
