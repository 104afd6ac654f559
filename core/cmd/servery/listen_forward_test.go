package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

func TestListenReceivesRealDeliveries(t *testing.T) {
	secret := webhook.NewSecret()
	sender := hubSender(t, waitTimeout)
	l := startListen(t, "--secret", secret, "--fail-first", "1", "--body")
	delivery := hubDelivery(l.url+"/hook", secret)
	failed, accepted := sender.Post(t.Context(), delivery), sender.Post(t.Context(), delivery)
	require.Equal(t, 500, failed.Status)
	require.False(t, failed.OK())
	require.True(t, accepted.OK(), accepted.Error)
	sender.Post(t.Context(), hubDelivery(l.url, webhook.NewSecret()))
	require.Zero(t, l.end())
	printed := l.stdout.String()
	require.Contains(t, printed,
		"store_creation        "+delivery.EventID.String()+
			"  attempt 1  31 B  verified by secret 1  returned 500 (failure 1 of 1)\n")
	require.Contains(t, printed,
		delivery.EventID.String()+"  attempt 2, repeated  31 B  verified by secret 1  returned 200\n")
	require.Contains(t, printed, "      \"ü\": [\n        1,\n        2.50\n")
	require.Contains(t, printed, "3 deliveries, 2 distinct webhook-ids, 2 verified, 1 not verified")

	hasty := hubSender(t, 100*time.Millisecond) // for those that never respond
	for flags, want := range map[string]webhook.ErrorClass{
		"--hang": webhook.Timeout, "--delay 1h": webhook.Timeout, "--status 410": webhook.Gone,
		"--redirect https://a.example": webhook.Redirect,
	} {
		from := sender
		if want == webhook.Timeout {
			from = hasty
		}
		l := startListen(t, strings.Fields(flags)...)
		attempt := from.Post(t.Context(), hubDelivery(l.url, secret))
		require.Equal(t, want, attempt.ErrorClass, "%s: %s", flags, attempt.Error)
		require.Zero(t, l.end())
	}
	dropping := startListen(t, "--drop")
	require.Equal(t, webhook.ConnectionBroken, sender.Post(t.Context(), hubDelivery(dropping.url, secret)).ErrorClass)
}

func TestListenForwardsDeliveries(t *testing.T) {
	secret := webhook.NewSecret()
	type got struct {
		header http.Header
		body   []byte
		uri    string
	}
	arrived := make(chan got, 8)
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- got{r.Header.Clone(), body, r.URL.String()}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	}))
	defer application.Close()
	l := startListen(t, "--forward", application.URL+"/hooks?key=hush", "--secret", secret, "--fail-first", "1")
	delivery := hubDelivery(l.url, secret)
	delivery.Headers["Connection"] = "X-Hop"
	delivery.Headers["X-Hop"] = "1"
	sender := hubSender(t, waitTimeout)
	require.Equal(t, 500, sender.Post(t.Context(), delivery).Status)
	require.Empty(t, arrived, "what fails first is not forwarded")
	attempt := sender.Post(t.Context(), delivery)
	require.Equal(t, http.StatusTeapot, attempt.Status)
	require.Equal(t, "short and stout", string(attempt.ResponseBody))
	require.Equal(t, "text/plain", attempt.ResponseHeaders["Content-Type"])

	forwarded := <-arrived
	require.Equal(t, delivery.Body, forwarded.body)
	require.Equal(t, "/hooks?key=hush", forwarded.uri)
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	require.NoError(t, verifier.Verify(forwarded.body, forwarded.header))
	for name, want := range map[string]string{
		"Webhook-Id": delivery.EventID.String(), "X-Event-Type": "store_creation", "Content-Type": "application/json",
		"X-Token": "hush", "User-Agent": "Servery", "X-Hop": "", "Idempotency-Key": "", "Accept-Encoding": "",
	} {
		require.Equal(t, want, forwarded.header.Get(name), name)
	}
	require.Zero(t, l.end())
	require.Regexp(t, `returned 418 \(forwarded, \d+ ms\)`, l.stdout.String())
	require.NotContains(t, l.stdout.String(), "hush")
}

func TestListenSaysWhyItCouldNotForward(t *testing.T) {
	released := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-released
	}))
	defer silent.Close()
	defer close(released)
	strange, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer strange.Close()
	go func() {
		if conn, err := strange.Accept(); err == nil {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	for _, row := range []struct {
		address string
		status  int
		printed string
	}{
		{silent.URL, http.StatusGatewayTimeout, "did not respond within 50ms"},
		{"http://me:hush@127.0.0.1:1", http.StatusBadGateway, "forwarding failed: dial tcp"},
		{"http://" + strange.Addr().String(), http.StatusBadGateway, "returned 999"},
	} {
		timeout := "10s"
		if row.status == http.StatusGatewayTimeout {
			timeout = "50ms"
		}
		l := startListen(t, "--forward", row.address, "--forward-timeout", timeout)
		response, body := exchange(t,
			signedRequest(t, l.url, signed{webhook.NewSecret(), core.NewID(time.Now()), time.Now(), "{}"}))
		require.Equal(t, row.status, response.StatusCode, row.printed)
		require.Contains(t, body, "could not forward")
		require.Zero(t, l.end())
		require.Contains(t, l.stdout.String(), row.printed)
		require.NotContains(t, l.stdout.String()+l.stderr.String()+body, "hush")
	}
}
