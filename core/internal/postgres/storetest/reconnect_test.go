package storetest

import (
	"context"
	"database/sql/driver"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
)

// tcpProxy makes the tests' server reachable over TCP.
type tcpProxy struct {
	net.Listener
	socket string
	mu     sync.Mutex
	open   []net.Conn // from the hub
}

// proxyTCP returns a proxy and the URL of a database through it.
func proxyTCP(t *testing.T, address string) (*tcpProxy, string) {
	u, err := url.Parse(address)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &tcpProxy{Listener: listener, socket: u.Path}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = p.Close()
		p.closeConnections("")
		serving.Wait()
	})
	return p, (&url.URL{Scheme: "postgres", User: u.User, Host: listener.Addr().String(), Path: "/" + u.Host}).String()
}

func (p *tcpProxy) forward(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("unix", p.socket)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.open = append(p.open, conn)
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(conn, server)
		_ = conn.Close()
	}()
	_, _ = io.Copy(server, conn)
	_ = server.Close()
}

// closeConnections sends a last message on all connections and closes them.
func (p *tcpProxy) closeConnections(last string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.open {
		_, _ = io.WriteString(conn, last)
		_ = conn.Close()
	}
	p.open = nil
}

// idleCheck returns a function that reports whether a connection is open and has nothing to read.
func idleCheck(t *testing.T, conn bun.Conn) (idle func() bool) {
	t.Helper()
	require.NoError(t, conn.Raw(func(driverConn any) error {
		idle = func() bool { return driverConn.(driver.SessionResetter).ResetSession(context.Background()) == nil }
		return nil
	}))
	return idle
}

func TestConnectionsClosedWhileIdleFailNoStatement(t *testing.T) {
	const shutdown = "E\x00\x00\x00\x1fSFATAL\x00VFATAL\x00C57P01\x00Mbye\x00\x00"
	for name, last := range map[string]string{"without a reason": "", "with a reason": shutdown} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			proxy, address := proxyTCP(t, hubtest.DatabaseURL(t))
			db, err := postgres.Open(ctx, postgres.Config{URL: address, Connections: 8})
			require.NoError(t, err)
			defer db.Close()
			lose := func(pool *bun.DB) {
				t.Helper()
				var idle []func() bool
				var taken []bun.Conn
				for range 4 {
					conn, err := pool.Conn(ctx)
					require.NoError(t, err)
					is := idleCheck(t, conn)
					require.True(t, is())
					idle, taken = append(idle, is), append(taken, conn)
				}
				for _, conn := range taken {
					require.NoError(t, conn.Close())
				}
				proxy.closeConnections(last)
				for _, is := range idle {
					eventually(t, "the connection is closed", func() bool { return !is() })
				}
			}
			lose(db.Keyed())
			_, _, err = jobs.New(db).Claim(ctx, core.ID{1}, 10, db.Clock().Now())
			require.NoError(t, err)
			lose(db.Keyed())
			require.NoError(t, db.InKeyedTx(ctx, func(bun.Conn) error { return nil }))
			lose(db.Bun())
			_, err = db.Bun().ExecContext(ctx, "SELECT 1")
			require.NoError(t, err)
		})
	}
}
