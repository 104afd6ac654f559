package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
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
		ID: core.NewID(time.Now()), EventID: core.NewID(time.Now()), EventType: core.StoreCreation, Body: []byte(`{"reference":"r","ü":1}`),
		WebhookID: 1, Endpoint: 1, URL: url, Units: Seconds, Secret: NewSecret(), Headers: map[string]string{"x-token": "hush", "User-Agent": "mine"},
	}
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
	require.Empty(t, got.Header.Values("Idempotency-Key"))
	require.Empty(t, got.Header.Values("Accept-Encoding"))

	require.Equal(t, mask, attempt.RequestHeaders["X-Token"], "records never hold the value of a custom header")
	require.NotContains(t, fmt.Sprint(attempt.RequestHeaders), "hush")
	require.Positive(t, attempt.Timing.Total)
	require.Positive(t, attempt.Timing.Connect)
}

func TestPostSaysWhatWentWrong(t *testing.T) {
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			fmt.Fprint(w, "told you")
		}
	}
	hangUp := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
			wait, done := context.WithTimeout(r.Context(), 50*time.Millisecond)
			<-wait.Done()
			done()
		}
	}
	raw := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		status  int
		class   ErrorClass
		message string
	}{
		"200":               {answer(200), 200, "", ""},
		"204":               {answer(204), 204, "", ""},
		"299":               {answer(299), 299, "", ""},
		"301":               {answer(301), 301, Redirect, "redirects are not followed"},
		"308":               {answer(308), 308, Redirect, "redirects are not followed"},
		"400":               {answer(400), 400, Status, "answered 400 Bad Request"},
		"410":               {answer(410), 410, Gone, "wants no more"},
		"429":               {answer(429), 429, Status, "answered 429"},
		"500":               {answer(500), 500, Status, "answered 500"},
		"hangs up":          {hangUp, 0, Broken, "closed the connection"},
		"drips":             {drip, 200, Timeout, "no complete answer within"},
		"no HTTP":           {raw("SSH-2.0-x\r\n\r\n"), 0, Protocol, "not proper HTTP"},
		"length is a lie":   {raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"), 200, Broken, "before the answer was complete"},
		"endless headers":   {raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"), 0, Protocol, "not proper HTTP"},
		"a gigabyte":        {func(w http.ResponseWriter, _ *http.Request) { writeLots(w) }, 200, "", ""},
		"a gigabyte of 500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); writeLots(w) }, 500, Status, "answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(row.handler)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.Start()
			defer server.Close()
			attempt := testSender(t, SenderConfig{ExchangeTimeout: 2 * time.Second}, "127.0.0.0/8").Post(context.Background(), testDelivery(server.URL))
			require.Equal(t, row.class, attempt.ErrorClass, attempt.Error)
			require.Equal(t, row.status, attempt.Status)
			require.Contains(t, attempt.Error, row.message)
			require.LessOrEqual(t, len(attempt.ResponseBody), 4<<10)
		})
	}
}

func writeLots(w io.Writer) {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 1024 {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func TestPostToWhatDoesNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() // accepts by the kernel, never answers
	s := testSender(t, SenderConfig{ExchangeTimeout: 300 * time.Millisecond}, "127.0.0.0/8")
	require.Equal(t, Timeout, s.Post(context.Background(), testDelivery("http://"+listener.Addr().String())).ErrorClass)
	require.Equal(t, Timeout, s.Post(context.Background(), testDelivery("https://"+listener.Addr().String())).ErrorClass)
	require.Equal(t, DNS, s.Post(context.Background(), testDelivery("http://nowhere.invalid/")).ErrorClass)
	closed := "http://127.0.0.1:1/"
	require.Equal(t, Connect, s.Post(context.Background(), testDelivery(closed)).ErrorClass)
}

func TestPostChecksTheCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	unknown := testSender(t, SenderConfig{}, "127.0.0.0/8").Post(context.Background(), testDelivery(server.URL))
	require.Equal(t, TLS, unknown.ErrorClass)
	require.Contains(t, unknown.Error, "unknown authority")

	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig
	good := testSender(t, SenderConfig{TLS: trusting.Clone()}, "127.0.0.0/8").Post(context.Background(), testDelivery(server.URL))
	require.True(t, good.OK(), good.Error)
	require.Positive(t, good.Timing.TLS)

	other := trusting.Clone()
	other.ServerName = "pos.example.org"
	wrong := testSender(t, SenderConfig{TLS: other}, "127.0.0.0/8").Post(context.Background(), testDelivery(server.URL))
	require.Contains(t, wrong.Error, "another name")

	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plain.Close()
	noTLS := testSender(t, SenderConfig{TLS: &tls.Config{}}, "127.0.0.0/8").
		Post(context.Background(), testDelivery(strings.Replace(plain.URL, "http:", "https:", 1)))
	require.Equal(t, TLS, noTLS.ErrorClass, noTLS.Error)
}

func TestGuardRefusesPrivateAddressesHoweverTheyAreWritten(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	s := testSender(t, SenderConfig{ExchangeTimeout: 2 * time.Second})
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "[::1]", "[::]", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fd00::1]", "[fec0::1]", "224.0.0.1", "255.255.255.255",
		"localhost", "localhost.", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "127.1", "017700000001",
	} {
		attempt := s.Post(context.Background(), testDelivery("http://"+host+":"+port+"/"))
		require.False(t, attempt.OK(), host)
		require.Contains(t, []ErrorClass{Refused, DNS}, attempt.ErrorClass, "%s: %s", host, attempt.Error)
	}
	require.Equal(t, Refused, s.Post(context.Background(), testDelivery("http://localhost:"+port)).ErrorClass, "a name that resolves to a private address")
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

func TestGuardCheckURL(t *testing.T) {
	guard := NewGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")})
	for url, refused := range map[string]bool{
		"https://pos.example.com/": false, "https://8.8.8.8/": false, "https://10.1.2.3/": false, "https://10.2.2.3/": true,
		"http://127.0.0.1:8080/": true, "http://localhost/": true, "http://LOCALHOST./": true, "http://[::ffff:127.0.0.1]/": true, "http://[::1]/": true,
		"http://169.254.169.254/latest": true,
	} {
		require.Equal(t, refused, guard.CheckURL(url) != "", url)
	}
}
