package inbound

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

const patience = 20 * time.Second

// server accepts connections and reads from each until it is closed.
type server struct {
	*Limiter
	net.Listener
	accepted chan *Conn
}

func serve(t *testing.T, config Config) *server {
	t.Helper()
	return serveOn(t, config, func(l net.Listener) net.Listener { return l })
}

func serveOn(t *testing.T, config Config, wrap func(net.Listener) net.Listener) *server {
	t.Helper()
	if config.Max == 0 {
		config.Max = 100
	}
	if config.PerAddress == 0 {
		config.PerAddress = 100
	}
	if config.Stall == 0 {
		config.Stall = patience
	}
	config.MinRate, config.Log = max(config.MinRate, 1), slog.New(slog.DiscardHandler)
	bound, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	limiter := New(config)
	s := &server{limiter, limiter.Listener(wrap(bound)), make(chan *Conn, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			s.accepted <- conn.(*Conn)
		}
	}()
	t.Cleanup(func() {
		_ = s.Listener.Close()
		<-ended
		close(s.accepted)
		for c := range s.accepted {
			_ = c.Close()
		}
	})
	return s
}

// dial connects from a local address.
func (s *server) dial(t *testing.T, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := dialer.DialContext(t.Context(), "tcp", s.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// connect connects from a local address and returns the server's end, which waits in a read. The changes to the
// server's end come before.
func (s *server) connect(t *testing.T, from string, changes ...func(net.Conn)) (client net.Conn, ours *Conn) {
	t.Helper()
	client = s.dial(t, from)
	select {
	case ours = <-s.accepted:
	case <-time.After(patience):
		require.FailNow(t, "the connection was not accepted")
	}
	for _, change := range changes {
		change(ours)
	}
	go func() {
		_, _ = io.Copy(io.Discard, ours)
		_ = ours.Close()
	}()
	require.Eventually(t, ours.waiting.Load, patience, time.Millisecond)
	return client, ours
}

func requireRefused(t *testing.T, client net.Conn) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(client), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"))
	require.Len(t, response.Header.Get("X-Request-Id"), len(core.ID{}.String()))
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.EqualValues(t, len(body), response.ContentLength)
	require.JSONEq(t, `{"status":"error","message":"too many connections: resend the request"}`, string(body))
	requireClosed(t, client)
}

func requireClosed(t *testing.T, client net.Conn) {
	t.Helper()
	_, err := client.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

func requireOpen(t *testing.T, client net.Conn, ours *Conn) {
	t.Helper()
	_, err := client.Write([]byte("x"))
	require.NoError(t, err)
	require.True(t, ours.counted())
}

// counted reports whether the limiter counts the connection.
func (c *Conn) counted() bool {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	return !c.removed
}

func TestFullListenerEvictsOldestWaitingAnonymous(t *testing.T) {
	s := serve(t, Config{Max: 3})
	known, ours := s.connect(t, "127.0.0.1")
	MarkAuthenticated(ours)
	oldest, _ := s.connect(t, "127.0.0.1")
	younger, other := s.connect(t, "127.0.0.1")
	newest, last := s.connect(t, "127.0.0.1")
	requireClosed(t, oldest)
	for client, conn := range map[net.Conn]*Conn{known: ours, younger: other, newest: last} {
		requireOpen(t, client, conn)
	}
	require.Equal(t, Stats{Open: 3, Authenticated: 1, Evicted: 1}, s.Stats())
}

func TestFullListenerRejectsWhenNoneIsIdle(t *testing.T) {
	s := serve(t, Config{Max: 2})
	known, ours := s.connect(t, "127.0.0.1")
	MarkAuthenticated(ours)
	s.dial(t, "127.0.0.1")
	busy := <-s.accepted // not in a read, as while a handler runs
	requireRefused(t, s.dial(t, "127.0.0.1"))
	require.Equal(t, Stats{Open: 2, Authenticated: 1, RefusedTotal: 1}, s.Stats())

	requireOpen(t, known, ours)
	require.NoError(t, busy.Close())
	s.connect(t, "127.0.0.1")
	require.Equal(t, 2, s.Stats().Open, "a closed connection frees capacity")
}

// connectIdle connects and returns the server's end, which waits for its next request with a key.
func (s *server) connectIdle(t *testing.T) (client net.Conn, ours *Conn) {
	t.Helper()
	return s.connect(t, "127.0.0.1", MarkAuthenticated, EndRequest)
}

func TestFullListenerEvictsLongestIdleAuthenticated(t *testing.T) {
	s := serve(t, Config{Max: 3})
	busy, ours := s.connect(t, "127.0.0.1")
	MarkAuthenticated(ours)
	longest, _ := s.connectIdle(t)
	younger, other := s.connectIdle(t)
	newest, last := s.connectIdle(t)
	requireClosed(t, longest)
	for client, conn := range map[net.Conn]*Conn{busy: ours, younger: other, newest: last} {
		requireOpen(t, client, conn)
	}
	require.Equal(t, Stats{Open: 3, Authenticated: 3, Evicted: 1}, s.Stats())
}

func TestAuthenticatedConnectionsAreEvictedLast(t *testing.T) {
	s := serve(t, Config{Max: 2})
	idle, ours := s.connectIdle(t)
	stranger, _ := s.connect(t, "127.0.0.1")
	s.connect(t, "127.0.0.1")
	requireClosed(t, stranger)
	requireOpen(t, idle, ours)
}

func TestEvictedConnectionServesNoFurtherRequest(t *testing.T) {
	l := New(Config{Max: 1, PerAddress: 1, Stall: patience, MinRate: 1, Log: slog.New(slog.DiscardHandler)})
	client, inner := net.Pipe()
	defer client.Close()
	ours, _ := l.add(inner)
	MarkAuthenticated(ours)
	EndRequest(ours)
	type result struct {
		n   int
		err error
	}
	read := make(chan result, 1)
	go func() {
		n, err := ours.Read(make([]byte, 8))
		read <- result{n, err}
	}()
	require.Eventually(t, func() bool { return ours.idleSince.Load() > 0 }, patience, time.Millisecond)
	require.Same(t, ours, l.evictAny())
	_, err := client.Write([]byte("next")) // before the caller closes the evicted connection
	require.NoError(t, err)
	require.Equal(t, result{0, io.EOF}, <-read)
	require.Nil(t, l.evictAny())
}

func TestHeaderDoesNotProtectAnAuthenticatedConnection(t *testing.T) {
	s := serve(t, Config{Max: 2})
	proven, ours := s.connect(t, "127.0.0.1", MarkAuthenticated, EndRequest, BeginRequest, MarkAuthenticated)
	began, _ := s.connect(t, "127.0.0.1", MarkAuthenticated, EndRequest, BeginRequest)
	s.connect(t, "127.0.0.1", MarkAuthenticated)
	requireClosed(t, began)
	requireOpen(t, proven, ours)
	requireRefused(t, s.dial(t, "127.0.0.1"))
	require.Equal(t, Stats{Open: 2, Authenticated: 2, Evicted: 1, RefusedTotal: 1}, s.Stats())
}

func TestOneBusinessCannotOccupyAllConnections(t *testing.T) {
	s := serve(t, Config{Max: 20})
	var conns []*Conn
	for range 6 {
		_, ours := s.connect(t, "127.0.0.1")
		conns = append(conns, ours)
	}
	last, held := conns[5], conns[:5]
	for _, ours := range held {
		require.Zero(t, CountRequest(ours, 7))
	}
	require.Equal(t, 5, CountRequest(last, 7))
	require.Equal(t, 1, s.Stats().RefusedBusiness)
	require.Zero(t, CountRequest(last, 8), "another business")
	EndRequest(last)

	EndRequest(held[0])
	require.Zero(t, CountRequest(last, 7), "a request has ended")
	require.Zero(t, CountRequest(last, 7), "the same request")
	require.NoError(t, held[1].Close())
	require.Zero(t, CountRequest(held[0], 7), "a connection has closed")
	require.Zero(t, CountRequest(held[1], 7), "not counted once closed")
	for _, ours := range conns {
		EndRequest(ours)
	}
	require.Empty(t, s.requests)
}

func TestConnectionBetweenRequestsIsEvictedFirst(t *testing.T) {
	s := serve(t, Config{Max: 2})
	began, ours := s.connect(t, "127.0.0.1", MarkAuthenticated, EndRequest, BeginRequest) // waits longer
	idle, _ := s.connectIdle(t)
	s.connect(t, "127.0.0.1")
	requireClosed(t, idle)
	requireOpen(t, began, ours)
}

func TestAddressLimitDoesNotAffectOtherAddresses(t *testing.T) {
	s := serve(t, Config{PerAddress: 2})
	var kept []net.Conn
	for range 2 {
		client, ours := s.connect(t, "127.0.0.2")
		MarkAuthenticated(ours)
		kept = append(kept, client)
	}
	requireRefused(t, s.dial(t, "127.0.0.2"))
	s.connect(t, "127.0.0.3")
	require.Equal(t, Stats{Open: 3, Authenticated: 2, RefusedAddress: 1}, s.Stats())

	require.NoError(t, kept[0].Close())
	require.Eventually(t, func() bool { return s.Stats().Open == 2 }, patience, time.Millisecond)
	s.connect(t, "127.0.0.2")
}

func TestFullAddressEvictsItsOwnConnection(t *testing.T) {
	s := serve(t, Config{PerAddress: 1})
	stranger, ours := s.connect(t, "127.0.0.2")
	first, _ := s.connect(t, "127.0.0.3")
	s.connect(t, "127.0.0.3")
	requireClosed(t, first)
	requireOpen(t, stranger, ours)
}

func TestTrustedProxyHasNoAddressLimit(t *testing.T) {
	s := serve(t, Config{Max: 4, PerAddress: 1, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	for range 4 {
		_, ours := s.connect(t, "127.0.0.2")
		MarkAuthenticated(ours)
	}
	requireRefused(t, s.dial(t, "127.0.0.2"))
	require.Equal(t, 1, s.Stats().RefusedTotal)
}

func TestAddressesAreCountedTogetherByPrefix(t *testing.T) {
	l := New(Config{Trusted: []netip.Prefix{
		netip.MustParsePrefix("2001:db8:ffff::/48"), netip.MustParsePrefix("10.0.0.0/8"),
	}})
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::1": "2001:db8:1:2::/64",
		"fe80::1%eth0":     "fe80::/64",
		"2001:db8:ffff::1": "invalid Prefix", "::ffff:10.1.2.3": "invalid Prefix",
	} {
		at := netip.MustParseAddr(address)
		require.Equal(t, want, l.originOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, 1))).String(), address)
	}
	require.False(t, l.originOf(&net.UnixAddr{}).IsValid())
}

func TestEndedConnectionsLeaveNothingBehind(t *testing.T) {
	s := serve(t, Config{})
	for i := range 20 {
		client, ours := s.connect(t, "127.0.0.2")
		if i%2 == 0 {
			MarkAuthenticated(ours)
			MarkAuthenticated(ours)
		}
		require.NoError(t, client.Close())
		require.Eventually(t, func() bool { return !ours.counted() }, patience, time.Millisecond)
		_ = ours.Close()
		MarkAuthenticated(ours)
	}
	require.Equal(t, Stats{}, s.Stats())
	require.Zero(t, s.anonymous.Len()+s.authenticated.Len())
	require.Empty(t, s.origins)
}

// failingListener is a listener whose Accept fails with EMFILE.
type failingListener struct {
	net.Listener
	left atomic.Int32
}

func (f *failingListener) Accept() (net.Conn, error) {
	if f.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestListenerOutlivesLackOfFileDescriptors(t *testing.T) {
	failed := &failingListener{}
	s := serveOn(t, Config{}, func(l net.Listener) net.Listener {
		failed.Listener = l
		return failed
	})
	idle, _ := s.connect(t, "127.0.0.1")
	failed.left.Store(2)
	s.connect(t, "127.0.0.1") // Accept was already waiting
	requireClosed(t, idle)
	s.connect(t, "127.0.0.1")
}
