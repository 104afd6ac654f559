package webhook

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// classification is the expected record of an attempt at an endpoint.
type classification struct {
	endpoint func(*testing.T) string // returns its URL
	status   int
	class    ErrorClass
	words    string
}

// never is a timeout that does not end an exchange of a test, even on a busy machine.
const never = 5 * time.Minute

// requireClassified checks the record of an attempt at each endpoint. The only timeout is the one that the row expects.
func requireClassified(t *testing.T, rows map[string]classification) {
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := SenderConfig{ConnectTimeout: never, ExchangeTimeout: never, pingAfter: never,
				TLS: trustingTLS().Clone()}
			switch {
			case strings.Contains(row.words, "TLS handshake within"):
				config.ConnectTimeout = time.Second
			case row.class == Timeout:
				config.ExchangeTimeout = 2 * time.Second
			}
			sender := testSender(t, config, "127.0.0.0/8")
			attempt := sender.Post(context.Background(), testDelivery(row.endpoint(t)))
			require.Equal(t, row.class, attempt.ErrorClass, attempt.Error)
			require.Equal(t, row.status, attempt.Status)
			require.Equal(t, row.words, attempt.Error)
			require.LessOrEqual(t, len(attempt.ResponseBody), 4<<10)
		})
	}
}

func overHTTP(handler http.HandlerFunc) func(*testing.T) string {
	return func(t *testing.T) string { return serve(t, handler, (*httptest.Server).Start) }
}

func overTLS(handler http.HandlerFunc) func(*testing.T) string {
	return func(t *testing.T) string { return serve(t, handler, (*httptest.Server).StartTLS) }
}

func overHTTP2(handler http.HandlerFunc) func(*testing.T) string {
	return func(t *testing.T) string {
		return serve(t, handler, func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() })
	}
}

func withTLS(config *tls.Config) func(*testing.T) string {
	return func(t *testing.T) string {
		return serve(t, answer(200), func(s *httptest.Server) { s.TLS = config; s.StartTLS() })
	}
}

func overTCP(scheme string, talk func(net.Conn)) func(*testing.T) string {
	return func(t *testing.T) string { return scheme + "://" + accept(t, talk) }
}

func fixedURL(url string) func(*testing.T) string { return func(*testing.T) string { return url } }

func TestPostClassifiesHTTPErrors(t *testing.T) {
	requireClassified(t, map[string]classification{
		"200": {overHTTP(answer(200)), 200, "", ""},
		"204": {overHTTP(answer(204)), 204, "", ""},
		"299": {overHTTP(answer(299)), 299, "", ""},
		"301": {overHTTP(answer(301)), 301, Redirect,
			"the server responded with 301, a redirect; redirects are not followed: subscribe the final URL"},
		"308": {overHTTP(answer(308)), 308, Redirect,
			"the server responded with 308, a redirect; redirects are not followed: subscribe the final URL"},
		"400": {overHTTP(answer(400)), 400, Status, "the server responded with 400 Bad Request"},
		"404": {overHTTP(answer(404)), 404, Status, "the server responded with 404 Not Found"},
		"410": {overHTTP(answer(410)), 410, Gone, "the server responded with 410 Gone: it wants no more deliveries"},
		"429": {overHTTP(answer(429)), 429, Status, "the server responded with 429 Too Many Requests"},
		"500": {overHTTP(answer(500)), 500, Status,
			"the server responded with 500 Internal Server Error"},
		"gigabyte": {overHTTP(lots(200)), 200, "", ""},
		"gigabyte of 500": {overHTTP(lots(500)), 500, Status,
			"the server responded with 500 Internal Server Error"},
		"hangs":           {overHTTP(hang), 0, Timeout, "no complete response within 2s"},
		"hangs after 200": {overHTTP(after200(hang)), 200, Timeout, "no complete response within 2s"},
		"drips":           {overHTTP(drip), 200, Timeout, "no complete response within 2s"},
		"hangs up": {overHTTP(hangUp), 0, ConnectionBroken,
			"the server closed the connection before the response was complete"},
		"resets": {overTCP("http", resetsConnection), 0, ConnectionBroken,
			"the server closed the connection before the response was complete"},
		"no HTTP": {overTCP("http", respondsWith("SSH-2.0-x\r\n\r\n")), 0, Protocol, "the response is not valid HTTP"},
		"lying length": {overTCP("http", respondsWith("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")), 200,
			ConnectionBroken, "the server closed the connection before the response was complete"},
		"endless headers": {overTCP("http", respondsWith("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x",
			1<<20)+"\r\n\r\n")), 0, Protocol, "the response is not valid HTTP"},
		"no such name": {fixedURL("http://nowhere..local"), 0, DNS,
			"the server name nowhere..local was not found on the public internet"},
		"nothing listens": {fixedURL("http://127.0.0.1:1"), 0, Connect,
			"connection refused: no server listens at this host and port"},
		"private": {fixedURL("http://10.1.2.3"), 0, AddressRefused,
			"the IP address is not on the public internet, and the hub does not allow it"},
		"accepts, no more": {overTCP("http", neverResponds), 0, Timeout, "no complete response within 2s"},
	})
}

func TestPostClassifiesTLSErrors(t *testing.T) {
	requireClassified(t, map[string]classification{
		"TLS":                   {overTLS(answer(200)), 200, "", ""},
		"TLS that never speaks": {overTCP("https", neverResponds), 0, Timeout, "no TLS handshake within 1s"},
		"TLS cut off": {overTCP("https", respondsWith("")), 0, TLS,
			"the server closed the connection during the TLS handshake"},
		"plain HTTP under https": {overTCP("https", respondsWith("HTTP/1.1 400 Bad Request\r\n\r\n")), 0, TLS,
			"the server does not support TLS"},
		"no TLS at all": {overTCP("https", respondsWith("220 mail.example ESMTP\r\n")), 0, TLS,
			"the server does not support TLS"},
		"no common cipher": {withTLS(&tls.Config{MaxVersion: tls.VersionTLS12,
			CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}), 0, TLS,
			"the server rejected the TLS handshake: handshake failure"},
		"unknown name": {withTLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config,
			error) {
			return &tls.Config{}, nil
		}}), 0, TLS,
			"the server rejected the TLS handshake: unrecognized name"},
		"old TLS": {withTLS(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), 0, TLS,
			"the server rejected the TLS handshake: protocol version not supported"},
		"wants a certificate": {withTLS(&tls.Config{ClientAuth: tls.RequireAnyClientCert}), 0, TLS,
			"the server rejected the TLS handshake: certificate required"},
		"wants one by TLS 1.2": {withTLS(&tls.Config{ClientAuth: tls.RequireAnyClientCert,
			MaxVersion: tls.VersionTLS12}),
			0, TLS, "the server rejected the TLS handshake: handshake failure"},
	})
}

func TestPostClassifiesHTTP2Errors(t *testing.T) {
	requireClassified(t, map[string]classification{
		"HTTP/2":                 {overHTTP2(answer(200)), 200, "", ""},
		"HTTP/2 hangs":           {overHTTP2(hang), 0, Timeout, "no complete response within 2s"},
		"HTTP/2 hangs after 200": {overHTTP2(after200(hang)), 200, Timeout, "no complete response within 2s"},
		"HTTP/2 resets": {overHTTP2(hangUp), 0, ConnectionBroken,
			"the server reset the HTTP/2 stream before the response was complete"},
		"HTTP/2 200 and resets": {overHTTP2(after200(hangUp)), 200, ConnectionBroken,
			"the server reset the HTTP/2 stream before the response was complete"},
	})
}

func TestInvalidCertificateErrorsAreExplained(t *testing.T) {
	authority := certificate(t,
		x509.Certificate{Subject: pkix.Name{CommonName: "Root"}, IsCA: true, BasicConstraintsValid: true}, nil)
	known := x509.NewCertPool()
	known.AddCert(authority.Leaf)
	here := []net.IP{net.IPv4(127, 0, 0, 1)}
	stranger := certificate(t,
		x509.Certificate{Subject: pkix.Name{CommonName: "Root"}, IsCA: true, BasicConstraintsValid: true}, nil)
	expired := certificate(t, x509.Certificate{Subject: pkix.Name{CommonName: "Old"}, IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(-time.Hour)}, nil)
	known.AddCert(expired.Leaf)
	for name, row := range map[string]struct {
		shown tls.Certificate
		words string
	}{
		"good": {certificate(t, x509.Certificate{IPAddresses: here}, &authority), ""},
		"unknown authority": {certificate(t, x509.Certificate{IPAddresses: here}, &stranger),
			`its authority "Root" is unknown, or the server does not send its intermediate certificates; ` +
				"it is valid until {end}"},
		"self-signed": {certificate(t, x509.Certificate{IPAddresses: here, Subject: pkix.Name{CommonName: "me"}}, nil),
			"it is self-signed, not signed by a known authority, and valid until {end}"},
		"expired": {certificate(t, x509.Certificate{IPAddresses: here, NotAfter: time.Now().Add(-time.Hour)},
			&authority), "it expired on {end}"},
		"not valid yet": {certificate(t, x509.Certificate{IPAddresses: here, NotBefore: time.Now().Add(time.Minute)},
			&authority), "it is not valid before {start}"},
		"expired authority": {certificate(t, x509.Certificate{IPAddresses: here}, &expired),
			`the certificate of its authority "Old" expired on ` + day(expired.Leaf.NotAfter)},
		"other names": {certificate(t,
			x509.Certificate{DNSNames: []string{"a.example", "*.b.example"},
				IPAddresses: []net.IP{net.IPv4(10, 1, 1, 1)}}, &authority),
			"it is for a.example, *.b.example, 10.1.1.1, not for 127.0.0.1, and valid until {end}"},
		"many names": {certificate(t,
			x509.Certificate{DNSNames: []string{"a.example", "b.example", "c.example", "d.example", "e.example",
				"f.example", "g.example"}}, &authority),
			"it is for a.example, b.example, c.example, d.example, e.example and 2 more, not for 127.0.0.1, " +
				"and valid until {end}"},
		"no name, self-signed": {certificate(t, x509.Certificate{Subject: pkix.Name{CommonName: "me"}}, nil),
			"it is for no name, not for 127.0.0.1, and valid until {end}, and self-signed"},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, answer(200), func(s *httptest.Server) {
				s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
					return &tls.Config{Certificates: []tls.Certificate{row.shown}}, nil
				}}
				s.StartTLS()
			})
			attempt := testSender(t, SenderConfig{TLS: &tls.Config{RootCAs: known}},
				"127.0.0.0/8").Post(context.Background(), testDelivery(url))
			if row.words == "" {
				require.True(t, attempt.OK(), attempt.Error)
				require.Positive(t, attempt.Timing.TLS)
				return
			}
			require.Equal(t, TLS, attempt.ErrorClass)
			words := strings.NewReplacer("{start}", day(row.shown.Leaf.NotBefore), "{end}",
				day(row.shown.Leaf.NotAfter)).Replace(row.words)
			require.Equal(t, "the server's certificate is not valid: "+words, attempt.Error)
		})
	}
}

// certificate creates a certificate that is signed by parent, or self-signed.
func certificate(t *testing.T, about x509.Certificate, by *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about.SerialNumber = big.NewInt(1)
	if about.NotBefore.IsZero() {
		about.NotBefore = time.Now().Add(-2 * time.Hour)
	}
	if about.NotAfter.IsZero() {
		about.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := &about, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, &about, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// serve runs an HTTP server until the test ends and returns its URL.
func serve(t *testing.T, handler http.HandlerFunc, start func(*httptest.Server)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(server)
	t.Cleanup(server.Close)
	return server.URL
}

// accept passes every connection to handle until the test ends. It returns its address.
func accept(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				talk(connection)
			}()
		}
	}()
	return listener.Addr().String()
}

// trustingTLS returns a TLS configuration that accepts the certificates of httptest.
var trustingTLS = sync.OnceValue(func() *tls.Config {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.Client().Transport.(*http.Transport).TLSClientConfig
})

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		fmt.Fprint(w, "as expected")
	}
}

func lots(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 1024 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
}

func after200(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		next(w, r)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client is gone
	<-r.Context().Done()
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		fmt.Fprint(w, "x")
		_ = http.NewResponseController(w).Flush()
		wait, done := context.WithTimeout(r.Context(), 50*time.Millisecond)
		<-wait.Done()
		done()
	}
}

// neverResponds reads and never responds.
func neverResponds(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) }

// respondsWith writes a fixed response to the first bytes it reads, then closes the connection.
func respondsWith(text string) func(net.Conn) {
	return func(connection net.Conn) {
		_, _ = connection.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(connection, text)
	}
}

// resetsConnection closes the connection with unread data.
func resetsConnection(connection net.Conn) { _, _ = connection.Read(make([]byte, 1)) }
