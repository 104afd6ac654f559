package webhook

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func testSender(t *testing.T, config SenderConfig, allow ...string) *Sender {
	t.Helper()
	var prefixes []netip.Prefix
	for _, text := range allow {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	s := NewSender(config, NewGuard(prefixes), core.NewSystemClock(nil))
	t.Cleanup(s.Close)
	return s
}

func testDelivery(url string) Delivery {
	return Delivery{
		ID: core.NewID(time.Now()), EventID: core.NewID(time.Now()), EventType: core.StoreCreation,
		Body:      []byte(`{"reference":"r","ü":1}`),
		WebhookID: 1, Endpoint: 1, URL: url, Units: Seconds, Secret: NewSecret(),
		Headers: map[string]string{"x-token": "hush", "User-Agent": "mine"},
	}
}

func TestSwitchedProtocolsEndTheAttempt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // silent until the hub closes the connection
	}()
	s := testSender(t, SenderConfig{}, "127.0.0.0/8")
	attempts := make(chan Attempt, 1)
	go func() { attempts <- s.Post(context.Background(), testDelivery("http://"+listener.Addr().String())) }()
	select {
	case attempt := <-attempts:
		require.Equal(t, []any{101, Status}, []any{attempt.Status, attempt.ErrorClass})
		<-served
	case <-time.After(30 * time.Second):
		t.Error("the attempt has no end")
	}
	require.NoError(t, listener.Close())
}

func TestLongestResponseHeadersAreNotRecorded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := range 50 {
			w.Header().Set(fmt.Sprintf("X-Long-%d", n), strings.Repeat("x", 1000))
		}
		w.Header().Set("Retry-After", "7")
	}))
	defer server.Close()
	attempt := testSender(t, SenderConfig{}, "127.0.0.0/8").Post(t.Context(), testDelivery(server.URL))
	require.True(t, attempt.OK())
	size := 0
	for name, value := range attempt.ResponseHeaders {
		size += len(name) + len(value)
	}
	require.LessOrEqual(t, size, 8<<10)
	require.Greater(t, size, 7<<10)
	require.Equal(t, "7", attempt.ResponseHeaders["Retry-After"])
}

func TestPostSignsByTheStandardScheme(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	d := testDelivery(server.URL + "/hook?a=b")
	attempt := testSender(t, SenderConfig{}, "127.0.0.0/8").Post(context.Background(), d)
	require.True(t, attempt.OK(), attempt.Error)

	verifier, err := standardwebhooks.NewWebhook(d.Secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(body, got.Header))
	require.Error(t, verifier.Verify(append(body, ' '), got.Header))
	require.Equal(t, d.Body, body)
	require.Equal(t, "/hook?a=b", got.URL.String())
	require.Equal(t, d.EventID.String(), got.Header.Get("webhook-id"))
	require.Equal(t, "store_creation", got.Header.Get("X-Event-Type"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.Equal(t, "hush", got.Header.Get("X-Token"))
	require.Equal(t, "mine", got.Header.Get("User-Agent"))
	require.Empty(t, got.Header.Values("Accept-Encoding"))

	require.Equal(t, Masked, attempt.RequestHeaders["X-Token"], "records never hold the value of a custom header")
	require.NotContains(t, fmt.Sprint(attempt.RequestHeaders), "hush")
	require.Positive(t, attempt.Timing.Total)
	require.Positive(t, attempt.Timing.Connect)
}

func TestEventHeaderCarriesTheDeliveredEvent(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	for _, c := range []struct {
		event  core.EventType
		header EventHeader
		sent   []string
	}{
		{core.OrderPlaced, EventHeader{"X-Hook", EventName}, []string{"order_placed"}},
		{core.OrderPlaced, EventHeader{"X-Hook", EventNumber}, []string{"18"}},
		{core.WebhookRetry, EventHeader{"X-Hook", EventName}, []string{"webhook_retry"}},
		{core.WebhookRetry, EventHeader{"X-Hook", EventNumber}, nil},
		{core.OrderPlaced, EventHeader{}, nil},
	} {
		d := testDelivery(server.URL)
		d.EventType, d.EventHeader = c.event, c.header
		attempt := testSender(t, SenderConfig{}, "127.0.0.0/8").Post(t.Context(), d)
		require.True(t, attempt.OK(), attempt.Error)
		require.Equal(t, c.sent, got.Values("X-Hook"), "%+v", c)
		require.Equal(t, string(c.event), got.Get(HeaderEventType))
		if c.sent != nil {
			require.Equal(t, c.sent[0], attempt.RequestHeaders["X-Hook"], "the header is not a secret")
		}
	}
}

func TestGuardRejectsPrivateAddressesInEveryNotation(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	s := testSender(t, SenderConfig{ExchangeTimeout: 2 * time.Second})
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "[::1]", "[::]", "10.1.2.3", "172.16.0.1", "192.168.1.1",
		"169.254.169.254", "100.64.0.1",
		"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fd00::1]", "[fec0::1]",
		"224.0.0.1", "255.255.255.255",
		"localhost", "localhost.", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "127.1", "017700000001",
	} {
		attempt := s.Post(context.Background(), testDelivery("http://"+host+":"+port+"/"))
		require.False(t, attempt.OK(), host)
		require.Contains(t, []ErrorClass{AddressRefused, DNS}, attempt.ErrorClass, "%s: %s", host, attempt.Error)
	}
	named := s.Post(context.Background(), testDelivery("http://localhost:"+port))
	require.Equal(t, DNS, named.ErrorClass)
	require.Equal(t, "the server name localhost was not found on the public internet", named.Error)
	require.Zero(t, reached.Load())
}

func TestRedirectToAPrivateAddressIsNotFollowed(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	outside := httptest.NewUnstartedServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	outside.Listener = listener
	outside.Start()
	defer outside.Close()
	attempt := testSender(t, SenderConfig{}, "127.0.0.2/32").Post(context.Background(), testDelivery(outside.URL))
	require.Equal(t, Redirect, attempt.ErrorClass)
	require.Zero(t, reached.Load())
}

func TestGuardCheckURLRejectsPrivateHosts(t *testing.T) {
	guard := NewGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")})
	for url, refused := range map[string]bool{
		"https://pos.example.com/": false, "https://8.8.8.8/": false, "https://10.1.2.3/": false,
		"https://10.2.2.3/":      true,
		"http://127.0.0.1:8080/": true, "http://localhost/": true, "http://LOCALHOST./": true,
		"http://[::ffff:127.0.0.1]/": true, "http://[::1]/": true, "http://[fe80::1%25eth0]/": true,
		"http://169.254.169.254/latest": true, "http://168.63.129.16/machine": true,
	} {
		require.Equal(t, refused, guard.CheckURL(url) != "", url)
	}
}

// A proxy between hub and endpoint drops all data on existing connections, like a firewall that lost its state.
func TestDeadConnectionIsNotReused(t *testing.T) {
	for name, row := range map[string]struct {
		start  func(*httptest.Server)
		within time.Duration // of the exchange on the dead connection
		class  ErrorClass
		words  string
	}{
		// The message names the configured timeout. The deadline of the test is sooner.
		"HTTP/1.1": {(*httptest.Server).StartTLS, time.Second, Timeout, "no complete response within 5m0s"},
		"HTTP/2": {func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() }, never, ConnectionBroken,
			"the connection was lost: no more data arrived"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opened, dead atomic.Int64
			endpoint := strings.TrimPrefix(serve(t, answer(200), row.start), "https://")
			proxy := accept(t, func(near net.Conn) {
				number := opened.Add(1)
				far, err := net.Dial("tcp", endpoint)
				if err != nil {
					return
				}
				defer far.Close()
				carry := func(to, from net.Conn) {
					for buffer := make([]byte, 32<<10); ; {
						n, err := from.Read(buffer)
						if err != nil {
							to.Close()
							return
						}
						if number > dead.Load() {
							_, _ = to.Write(buffer[:n])
						}
					}
				}
				go carry(near, far)
				carry(far, near)
			})
			sender := testSender(t, SenderConfig{ConnectTimeout: never, ExchangeTimeout: never, pingAfter: time.Second,
				pingTimeout: 5 * time.Second, TLS: trustingTLS().Clone()}, "127.0.0.0/8")
			post := func(within time.Duration) Attempt {
				ctx, cancel := context.WithTimeout(t.Context(), within)
				defer cancel()
				return sender.Post(ctx, testDelivery("https://"+proxy))
			}
			require.Empty(t, post(never).Error)
			dead.Store(opened.Load())
			lost := post(row.within)
			require.Equal(t, []any{row.class, row.words}, []any{lost.ErrorClass, lost.Error})
			require.Empty(t, post(never).Error, "over a new connection")
		})
	}
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "Gr…", clip("Größe", 3))
	require.Equal(t, "Größe", clip("Größe", 7))
	require.Equal(t, "Gr\xf6\xdfe…", clip("Gr\xf6\xdfes", 5), "bytes that are not UTF-8 stay")
}
