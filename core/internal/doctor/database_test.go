package doctor_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/doctor"
	"github.com/servery-hub/servery/core/internal/hub"
)

// standIn answers each connection like a database server, and returns its URL.
func standIn(t *testing.T, respond func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(conn, make([]byte, 8)) // a request for TLS, or the beginning of a startup message
			respond(conn)
			_ = conn.Close()
		}
	}()
	return "postgres://servery@" + listener.Addr().String() + "/servery"
}

func TestConnectionRemedyFollowsTheKindOfError(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	untrusted := func(conn net.Conn) {
		_, _ = conn.Write([]byte("S"))
		_ = tls.Server(conn, &tls.Config{Certificates: secure.TLS.Certificates}).Handshake()
	}
	refuse := func(code, message string) func(net.Conn) {
		return func(conn net.Conn) {
			fields := "SFATAL\x00VFATAL\x00C" + code + "\x00M" + message + "\x00\x00"
			_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(4 + len(fields))}, fields...))
		}
	}
	for name, c := range map[string]struct {
		respond    func(net.Conn)
		mode, want string
	}{
		"no TLS": {func(conn net.Conn) { _, _ = conn.Write([]byte("N")) }, "?sslmode=require",
			"set ssl = on at the server"},
		"unknown CA":          {untrusted, "?sslmode=verify-full", "set sslrootcert"},
		"full":                {refuse("53300", "certificate 28000: connection refused"), "", "raise max_connections"},
		"starting":            {refuse("57P03", "SSL is not enabled"), "", "wait until the server has started"},
		"an unknown SQLSTATE": {refuse("XX000", "no such file: data directory"), "", "check SERVERY_DATABASE_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := 0
			url := standIn(t, func(conn net.Conn) {
				if served++; served == 2 { // the first error is known, and the hub retries
					cancel()
				}
				c.respond(conn)
			})
			_, err := hub.OpenDatabase(ctx, hub.DatabaseConfig{URL: url + c.mode,
				DataDir: t.TempDir(), SecretKey: secretKey}, slog.New(slog.DiscardHandler))
			require.Error(t, err)
			require.Contains(t, doctor.ConnectionRemedy(err), c.want, err)
		})
	}
	unknown := &net.DNSError{Err: "no such host", Name: "certificate.invalid"}
	require.Contains(t, doctor.ConnectionRemedy(unknown), "correct the host")
}

const secretKey = "abababababababababababababababababababababababababababababababab"

func TestFilesOfTheHubHaveTheirRemedies(t *testing.T) {
	dir := t.TempDir()
	file, damaged := filepath.Join(dir, "file"), filepath.Join(dir, "damaged")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(damaged, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, "secret.key"), []byte("short"), 0o600))
	const url = "postgres://servery@127.0.0.1:1/servery"
	for name, c := range map[string]struct {
		config hub.DatabaseConfig
		want   string
	}{
		"no hub":         {hub.DatabaseConfig{DataDir: dir}, "create one with servery serve"},
		"no key":         {hub.DatabaseConfig{URL: url, DataDir: dir}, "openssl rand"},
		"malformed key":  {hub.DatabaseConfig{URL: url, DataDir: damaged}, "openssl rand"},
		"unreadable key": {hub.DatabaseConfig{URL: url, DataDir: file}, "run it as the user who owns"},
		"no data directory": {hub.DatabaseConfig{DataDir: file, SecretKey: secretKey, Create: true},
			"to a writable directory"},
		"a path of other words": {hub.DatabaseConfig{URL: url, DataDir: "/28000/certificate"}, "openssl rand"},
	} {
		_, err := hub.OpenDatabase(t.Context(), c.config, slog.New(slog.DiscardHandler))
		require.Error(t, err, name)
		require.Contains(t, doctor.ConnectionRemedy(err), c.want, "%s: %v", name, err)
	}
}
