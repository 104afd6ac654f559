package web

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

const patience = 20 * time.Second

type noopObserver struct{}

func (noopObserver) RequestHandled(string, string, int, time.Duration) {}
func (noopObserver) CallbackUnverified()                               {}
func (noopObserver) CallbackUnrouted()                                 {}

// socketServer serves on a local socket. It is patient, unless the test wants otherwise.
type socketServer struct {
	*Server
	limiter *inbound.Limiter
	address string
	served  chan error
}

// openBody is the body limit of the route that needs no key.
const openBody = 64 << 10

const stall = 300 * time.Millisecond

// serverConfig is what tests of connections change.
type serverConfig struct {
	Config
	stall          time.Duration
	maxConnections int
}

// serveOnSocket starts a server. Further routes are added before, because fiber reads the routes at the start.
func serveOnSocket(t *testing.T, change func(*serverConfig), further ...func(*socketServer)) *socketServer {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return serveOn(t, socket, change, further...)
}

func serveOn(t *testing.T, socket net.Listener, change func(*serverConfig),
	further ...func(*socketServer)) *socketServer {
	t.Helper()
	config := serverConfig{Config{SystemOnly: true, MaxBody: 1 << 20, HeaderTimeout: patience, IdleTimeout: patience,
		Observer: noopObserver{}, Clock: core.NewSystemClock(nil), Log: slog.New(slog.DiscardHandler)}, patience, 100}
	if change != nil {
		change(&config)
	}
	b := &socketServer{Server: New(config.Config), address: socket.Addr().String(), served: make(chan error, 1)}
	b.App.Post("/open/", func(c *fiber.Ctx) error {
		_, err := body.Read(c.UserContext(), c.Context(), body.Limit{Bytes: openBody}, &limit.Reservation{})
		return err
	})
	keyed := b.guard(route{scope: anyScope, handle: func(*fiber.Ctx, core.Caller) error { return nil }})
	b.App.Get("/key/", keyed)
	b.App.Post("/key/", keyed)
	b.App.Get("/large/", func(c *fiber.Ctx) error { return c.Send(make([]byte, 64<<20)) })
	b.App.Get("/live/", func(c *fiber.Ctx) error {
		c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
			tick := time.NewTicker(2 * stall)
			defer tick.Stop()
			for range 3 {
				if _, err := w.WriteString("beat\n"); err != nil || w.Flush() != nil {
					return
				}
				<-tick.C
			}
		})
		return nil
	})
	for _, add := range further {
		add(b)
	}
	b.limiter = inbound.New(inbound.Config{Max: config.maxConnections, PerAddress: 100, Stall: config.stall,
		MinRate: 4 << 10, Log: config.Log})
	go func() { b.served <- b.App.Listener(b.limiter.Listener(socket)) }()
	t.Cleanup(func() {
		require.NoError(t, b.App.ShutdownWithTimeout(patience))
		require.NoError(t, <-b.served)
	})
	return b
}

// send connects and sends the start of a request.
func (b *socketServer) send(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", b.address, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write([]byte(text))
	require.NoError(t, err)
	return conn, bufio.NewReader(conn)
}

// requireTimedOut checks that a connection receives a 408 and is closed.
func requireTimedOut(t *testing.T, from *bufio.Reader) {
	t.Helper()
	text, err := io.ReadAll(from)
	require.NoError(t, err)
	require.Contains(t, string(text), "408 Request Timeout")
}

// withShortStall cuts off a body, or a response, that does not make progress.
func withShortStall(c *serverConfig) { c.stall = stall }

// withShortHeader cuts off a header that is not complete in time.
func withShortHeader(c *serverConfig) { c.HeaderTimeout = stall }

func TestIncompleteBodyIsCutOff(t *testing.T) {
	b := serveOnSocket(t, withShortStall)
	header := fmt.Sprintf("POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", openBody)
	_, answer := b.send(t, header+strings.Repeat("x", openBody-1))
	requireTimedOut(t, answer)
	require.Positive(t, b.limiter.Stats().Stalled)
}

func TestIncompleteHeaderIsCutOff(t *testing.T) {
	b := serveOnSocket(t, withShortHeader)
	for _, text := range []string{"", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "} {
		_, answer := b.send(t, text)
		requireTimedOut(t, answer)
	}
}

func TestSlowHeaderIsCutOffDespiteProgress(t *testing.T) {
	b := serveOnSocket(t, withShortHeader)
	conn, answer := b.send(t, "GET / HTTP/1.1\r\nX-Slow: ")
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := conn.Write([]byte(strings.Repeat("x", 64))); err != nil { // above the minimum rate of bodies
				return
			}
		}
	}()
	status, err := answer.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, status, "408")
}

// pipeListener accepts connections in memory, whose deadlines follow the clock of a test.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, open := <-l; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error { close(l); return nil }

func (pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestSlowButProgressingBodyIsAccepted(t *testing.T) {
	// The first response starts a goroutine that never ends.
	_, err := fiber.New().Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipeListener)
		t.Cleanup(func() { <-time.After(time.Minute) }) // fasthttp looks every 10 s whether its server has stopped
		serveOn(t, listener, withShortStall)
		client, server := net.Pipe()
		defer client.Close()
		listener <- server
		start := time.Now()
		_, err := fmt.Fprintf(client, "POST /open/ HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", openBody)
		require.NoError(t, err)
		for range 64 {
			<-time.After(25 * time.Millisecond)
			_, err := client.Write(make([]byte, openBody/64))
			require.NoError(t, err)
		}
		response, err := http.ReadResponse(bufio.NewReader(client), nil)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Greater(t, time.Since(start), 3*stall, "it takes longer than a client may stall")
	})
}

func TestRejectionReachesAClientThatSendsAllFirst(t *testing.T) {
	b := serveOnSocket(t, func(c *serverConfig) {
		c.Authenticator = fakeAuthenticator{core.Errorf(core.Unauthenticated, "unknown key")}
	})
	const size = 24 << 20 // more than the buffers of a socket
	for request, status := range map[string]int{"POST /key/": http.StatusUnauthorized, "PUT /key/": 405,
		"POST /nowhere/": http.StatusNotFound, "POST /open/": http.StatusRequestEntityTooLarge} {
		t.Run(request, func(t *testing.T) {
			conn, answer := b.send(t,
				fmt.Sprintf("%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", request, size))
			_, err := conn.Write(make([]byte, size))
			require.NoError(t, err)
			response, err := http.ReadResponse(answer, nil)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			require.Equal(t, status, response.StatusCode)
			_, err = answer.ReadByte()
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, conn.Close())
			require.Eventually(t, func() bool { return b.limiter.Stats().Open == 0 }, patience, time.Millisecond)
		})
	}
}

func TestClientThatDoesNotReadIsCutOff(t *testing.T) {
	b := serveOnSocket(t, withShortStall)
	_, answer := b.send(t, "GET /large/ HTTP/1.1\r\nHost: a\r\n\r\n")
	require.Eventually(t, func() bool {
		stats := b.limiter.Stats()
		return stats.Open == 0 && stats.Stalled == 1
	}, patience, time.Millisecond)
	n, err := io.Copy(io.Discard, answer)
	require.Less(t, n, int64(64<<20))
	require.Error(t, err)
}

func TestLiveStreamOutlastsTheStall(t *testing.T) {
	b := serveOnSocket(t, withShortStall)
	_, answer := b.send(t, "GET /live/ HTTP/1.1\r\nHost: a\r\n\r\n")
	response, err := http.ReadResponse(answer, nil)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("beat\n", 3), string(text))
	require.Zero(t, b.limiter.Stats().Stalled)
}

func TestIdleConnectionIsKeptForItsTime(t *testing.T) {
	b := serveOnSocket(t, func(c *serverConfig) { c.IdleTimeout = 3 * stall })
	start := time.Now()
	conn, answer := b.send(t, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
	response, err := http.ReadResponse(answer, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.Greater(t, time.Since(start), 2*stall)
}

func TestAcceptedKeyMarksTheConnectionAsAuthenticated(t *testing.T) {
	b := serveOnSocket(t, func(c *serverConfig) { c.Authenticator = fakeAuthenticator{} })
	for path, authenticated := range map[string]int{"/healthz": 0, "/key/": 1} {
		conn, answer := b.send(t, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		response, err := http.ReadResponse(answer, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, authenticated, b.limiter.Stats().Authenticated)
		_ = response.Body.Close()
		_ = conn.Close()
		require.Eventually(t, func() bool { return b.limiter.Stats().Open == 0 }, patience, time.Millisecond)
	}
}

func TestBusinessWithTooManyRequestsIsThrottled(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	b := serveOnSocket(t, func(c *serverConfig) { c.Authenticator, c.maxConnections = fakeAuthenticator{}, 16 },
		func(b *socketServer) {
			b.App.Get("/held/", b.guard(route{scope: anyScope, handle: func(*fiber.Ctx, core.Caller) error {
				began <- struct{}{}
				<-finish
				return nil
			}}))
		})
	request := func(path string) *http.Response {
		_, answer := b.send(t, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
		response, err := http.ReadResponse(answer, nil)
		require.NoError(t, err)
		_ = response.Body.Close()
		return response
	}
	held := make(chan int, 4)
	for range 4 {
		go func() { held <- request("/held/").StatusCode }()
		<-began
	}
	refused := request("/key/")
	require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, request("/healthz").StatusCode)
	close(finish)
	for range 4 {
		require.Equal(t, http.StatusOK, <-held)
	}
	require.Eventually(t, func() bool { return request("/key/").StatusCode == http.StatusOK }, patience,
		time.Millisecond)
}

func TestIdleKeyedConnectionsDoNotKeepOthersOut(t *testing.T) {
	for name, next := range map[string]string{"idle": "", "with a byte": "G"} {
		t.Run(name, func(t *testing.T) { requireRoomBesideKeyed(t, next) })
	}
}

// requireRoomBesideKeyed fills a server with connections that have shown a key and sent the begin of another request.
func requireRoomBesideKeyed(t *testing.T, next string) {
	t.Helper()
	b := serveOnSocket(t, func(c *serverConfig) { c.Authenticator, c.maxConnections = fakeAuthenticator{}, 3 })
	for range 3 {
		_, answer := b.send(t, "GET /key/ HTTP/1.1\r\nHost: a\r\n\r\n"+next)
		response, err := http.ReadResponse(answer, nil)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
	}
	other := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.Eventually(t, func() bool { // a response arrives just before its connection is idle
		response, err := other.Get("http://" + b.address + "/key/")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond)
	require.Equal(t, 1, b.limiter.Stats().Evicted)
}
