package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/webhook"
)

// listenProcess is a running `servery listen`.
type listenProcess struct {
	url            string
	stdout, stderr *hubtest.Output
	end            func() int // Ctrl-C; returns the exit status
}

var listeningLine = regexp.MustCompile(`(?m)^Listening on (http://\S+) `)

// startListen runs the command on a free port. At the end of the test it stops the command, whose output must not
// contain a secret.
func startListen(t *testing.T, flags ...string) *listenProcess {
	t.Helper()
	l := &listenProcess{stdout: &hubtest.Output{}, stderr: &hubtest.Output{}}
	ctx, interrupt := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"listen", "--listen", "127.0.0.1:0"}, flags...), output{l.stdout, l.stderr})
	}()
	eventually(t, waitTimeout, func() error {
		if l.url = l.stdout.Find(listeningLine) + l.stderr.Find(listeningLine); l.url != "" {
			return nil
		}
		require.Empty(t, ended, "listen ended: %s\n%s", l.stdout, l.stderr)
		return errors.New("listen does not listen")
	})
	l.end = func() int {
		interrupt()
		status := <-ended
		ended <- status
		return status
	}
	t.Cleanup(func() {
		l.end()
		for _, flag := range flags {
			if _, key, found := strings.Cut(flag, "whsec_"); found {
				require.NotContains(t, l.stdout.String()+l.stderr.String(), key)
			}
		}
	})
	return l
}

// signed is a body with the inputs of its signature.
type signed struct {
	secret string
	id     core.ID
	at     time.Time
	body   string
}

// signedRequest returns a delivery as a hub sends it.
func signedRequest(t *testing.T, url string, s signed) *http.Request {
	t.Helper()
	signature, err := webhook.Sign(s.secret, s.id, s.at, []byte(s.body))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(s.body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(webhook.HeaderID, s.id.String())
	request.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(s.at.Unix(), 10))
	request.Header.Set(webhook.HeaderSignature, signature)
	request.Header.Set(webhook.HeaderEventType, string(core.OrderPlaced))
	return request
}

// exchange sends a request without following redirects.
func exchange(t *testing.T, request *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

// hubSender returns the sender of a hub that may deliver to local addresses.
func hubSender(t *testing.T, timeout time.Duration) *webhook.Sender {
	t.Helper()
	guard := webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	sender := webhook.NewSender(webhook.SenderConfig{ExchangeTimeout: timeout}, guard, core.NewSystemClock(nil))
	t.Cleanup(sender.Close)
	return sender
}

func hubDelivery(url, secret string) webhook.Delivery {
	return webhook.Delivery{
		ID: core.NewID(time.Now()), EventID: core.NewID(time.Now()), EventType: core.StoreCreation,
		Body: []byte(`{"reference":"r","ü":[1,2.50]}`),
		URL:  url, Units: webhook.Seconds, Secret: secret, Headers: map[string]string{"X-Token": "hush"},
	}
}

// failingWriter accepts the first line and fails after it.
type failingWriter struct{ output *hubtest.Output }

func (f failingWriter) Write(p []byte) (int, error) {
	if f.output.String() == "" {
		return f.output.Write(p)
	}
	return 0, errors.New("no space left on device")
}
