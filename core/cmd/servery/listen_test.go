package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/listen"
	"github.com/servery-hub/servery/core/webhook"
)

func TestListenRespondsAsConfigured(t *testing.T) {
	for _, row := range []struct {
		flags    string
		status   int
		location string
		printed  string
	}{
		{"", 200, "", "returned 200"},
		{"--status 204", 204, "", "returned 204"},
		{"--status 410", 410, "", "returned 410"},
		{"--status 599", 599, "", "returned 599"},
		{"--redirect https://pos.example.com/hooks", 302, "https://pos.example.com/hooks", "returned 302"},
		{"--delay 20ms --status 503", 503, "", "returned 503 after 20ms"},
		{"--fail-first 1 --fail-status 429", 429, "", "returned 429 (failure 1 of 1)"},
	} {
		l := startListen(t, strings.Fields(row.flags)...)
		response, _ := exchange(t,
			signedRequest(t, l.url+"/any/path", signed{webhook.NewSecret(), core.NewID(time.Now()), time.Now(), "{}"}))
		require.Equal(t, row.status, response.StatusCode, row.flags)
		require.Equal(t, row.location, response.Header.Get("Location"))
		require.Zero(t, l.end())
		require.Contains(t, l.stdout.String(), row.printed)
		require.Contains(t, l.stdout.String(), "order_placed")
		require.Contains(t, l.stdout.String(), "signature not checked")
	}
}

func TestListenCanDropOrHang(t *testing.T) {
	dropping := startListen(t, "--drop")
	_, err := http.DefaultTransport.RoundTrip(signedRequest(t, dropping.url, signed{webhook.NewSecret(),
		core.NewID(time.Now()), time.Now(), "{}"}))
	require.ErrorIs(t, err, io.EOF)
	require.Contains(t, dropping.stdout.String(), "connection closed without a response")

	hanging := startListen(t, "--hang")
	waiting := make(chan error, 1)
	send := func(ctx context.Context, already int) { // returns when the request waits for its response
		request := signedRequest(t, hanging.url, signed{webhook.NewSecret(), core.NewID(time.Now()), time.Now(), "{}"})
		go func() {
			response, err := http.DefaultTransport.RoundTrip(request.WithContext(ctx))
			if err == nil {
				_ = response.Body.Close()
			}
			waiting <- err
		}()
		eventually(t, waitTimeout, func() error {
			n := strings.Count(hanging.stdout.String(), "no response until the client disconnects")
			if n <= already {
				return fmt.Errorf("%d printed", n)
			}
			return nil
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	send(ctx, 0)
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)

	send(t.Context(), 1) // Ctrl-C ends a delayed response
	require.Zero(t, hanging.end())
	require.Error(t, <-waiting)
}

func TestListenChecksSignatures(t *testing.T) {
	known, other := webhook.NewSecret(), webhook.NewSecret()
	l := startListen(t, "--secret", other, "--secret", known)
	now := time.Now()
	for _, row := range []struct {
		secret  string
		at      time.Time
		change  func(*http.Request)
		printed string
	}{
		{known, now, nil, "verified by secret 2"},
		{other, now, nil, "verified by secret 1"},
		{known, now, func(r *http.Request) {
			r.Header.Set(webhook.HeaderSignature, "v1,AAAA "+r.Header.Get(webhook.HeaderSignature))
		}, "verified by secret 2"},
		{webhook.NewSecret(), now, nil, "NOT VERIFIED: the signature matches no known secret"},
		{known, now, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("[]")), 2 },
			"NOT VERIFIED: the signature matches no known secret"},
		{known, now.Add(-6 * time.Minute), nil, "NOT VERIFIED: the timestamp is more than 5 minutes off"},
		{known, now, func(r *http.Request) { r.Header.Del(webhook.HeaderSignature) }, "NOT VERIFIED: not signed"},
	} {
		id := core.NewID(now)
		request := signedRequest(t, l.url, signed{row.secret, id, row.at, `{"reference":"r"}`})
		if row.change != nil {
			row.change(request)
		}
		response, _ := exchange(t, request)
		require.Equal(t, http.StatusOK, response.StatusCode, "what is not verified gets the configured response too")
		lines := strings.Split(strings.TrimSpace(l.stdout.String()), "\n")
		require.Contains(t, lines[len(lines)-1], row.printed)
		require.Contains(t, lines[len(lines)-1], id.String()+"  attempt 1 ")
	}
	require.Zero(t, l.end())
	require.Contains(t, l.stdout.String(), "7 deliveries, 7 distinct webhook-ids, 3 verified, 4 not verified")
}

func TestListenTakesSecretsFromTheEnvironment(t *testing.T) {
	first, second := webhook.NewSecret(), webhook.NewSecret()
	t.Setenv("SERVERY_LISTEN_SECRET", first+", "+second)
	l := startListen(t)
	exchange(t, signedRequest(t, l.url, signed{second, core.NewID(time.Now()), time.Now(), "{}"}))
	require.Contains(t, l.stdout.String(), "checked with 2 secrets")
	require.Contains(t, l.stdout.String(), "verified by secret 2")
	require.Zero(t, l.end())
	require.Contains(t, l.stdout.String(), "1 delivery, 1 distinct webhook-id, 1 verified, 0 not verified")

	var printed bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"listen", "--help"}, output{&printed, &printed}))
	require.NotContains(t, printed.String()+l.stdout.String(), first[len("whsec_"):])
}

func TestListenFailsFirstAttempts(t *testing.T) {
	l := startListen(t, "--fail-first", "2", "--status", "202")
	for range 2 { // two webhook-ids, each with its own failures
		id := core.NewID(time.Now())
		for i, want := range []int{500, 500, 202, 202} {
			response, _ := exchange(t, signedRequest(t, l.url, signed{webhook.NewSecret(), id, time.Now(), "{}"}))
			require.Equal(t, want, response.StatusCode, "attempt %d", i+1)
		}
		require.Contains(t, l.stdout.String(), id.String()+"  attempt 2, repeated")
	}
	nameless, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url, strings.NewReader("{}"))
	require.NoError(t, err)
	response, _ := exchange(t, nameless)
	require.Equal(t, 202, response.StatusCode, "attempts without a webhook-id cannot be distinguished")
	require.Zero(t, l.end())
	require.Contains(t, l.stdout.String(), "(no event type)       (no webhook-id)")
	require.Contains(t, l.stdout.String(), "9 deliveries, 2 distinct webhook-ids, 0 verified, 0 not verified")
}

func TestListenPrintsJSON(t *testing.T) {
	secret, id := webhook.NewSecret(), core.NewID(time.Now())
	l := startListen(t, "--json", "--body", "--secret", secret, "--fail-first", "1")
	body := "{\"a\": [1, 2.50],\n \"b\": \"\u009b\"}"
	for range 2 {
		exchange(t, signedRequest(t, l.url, signed{secret, id, time.Now(), body}))
	}
	exchange(t, signedRequest(t, l.url, signed{webhook.NewSecret(), core.NewID(time.Now()), time.Now(),
		"no\x1bJSON\xff"}))
	require.Zero(t, l.end())
	require.Contains(t, l.stderr.String(), "3 deliveries, 2 distinct webhook-ids, 2 verified, 1 not verified")
	lines := strings.Split(strings.TrimSpace(l.stdout.String()), "\n")
	require.Len(t, lines, 3)
	require.NotContains(t, l.stdout.String(), "\u009b")
	var second, third listen.Line
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &second))
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &third))
	require.WithinDuration(t, time.Now(), second.ReceivedAt, waitTimeout)
	require.JSONEq(t, body, string(second.Body))
	second.ReceivedAt, second.Body = time.Time{}, nil
	require.Equal(t, listen.Line{
		EventType: "order_placed", WebhookID: id.String(), Attempt: 2, Repeated: true, Size: len(body),
		Signature: "verified", Secret: 1, Status: 200,
	}, second)
	require.Equal(t, []any{"refused", "the signature matches no known secret", 500, "no\x1bJSON\uFFFD", false},
		[]any{third.Signature, third.Reason, third.Status, third.BodyText, third.Clipped})
	require.Contains(t, lines[0], `"status":500`)
}

func TestListenOnATakenPortSaysSo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"listen", "--listen", taken.Addr().String()},
		output{&stdout, &stderr}))
	require.Contains(t, stderr.String(), taken.Addr().String()+" is in use")
	require.Contains(t, stderr.String(), "--listen HOST:PORT")
	require.Empty(t, stdout.String())
}

func TestListenEndsWhenItCannotPrint(t *testing.T) {
	stdout, stderr := &hubtest.Output{}, &hubtest.Output{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"listen", "--listen", "127.0.0.1:0"}, output{failingWriter{stdout}, stderr})
	}()
	hubtest.WaitUntil(t, "the URL is printed", func() bool { return stdout.Find(listeningLine) != "" })
	exchange(t, signedRequest(t, stdout.Find(listeningLine), signed{webhook.NewSecret(), core.NewID(time.Now()),
		time.Now(), "{}"}))
	require.Equal(t, 1, <-ended)
	require.Contains(t, stderr.String(), "printing: no space left on device")
}
