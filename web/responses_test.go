package web

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// A request that only reads, or that failed before its handler, was certainly not accepted.
func TestErrorSaysWhetherTheRequestMayBeAccepted(t *testing.T) {
	const unknown, none = "may or may not have accepted", "has not accepted"
	pluginFailed := &core.Error{Code: core.Internal, Message: "a plugin failed (plugin_failed)",
		Cause: errors.New("panic in main.go:12")}
	for _, c := range []struct {
		method        string
		authenticates error // the error of authentication
		handles       error
		says          string
	}{
		{http.MethodPost, io.EOF, nil, none},
		{http.MethodPost, errors.New("no such column"), nil, none},
		{http.MethodPost, nil, io.EOF, unknown},
		{http.MethodPost, nil, errors.New("no such column"), unknown},
		{http.MethodGet, nil, io.EOF, none},
		{http.MethodPost, nil, pluginFailed, "a plugin failed (plugin_failed): the hub " + unknown},
		{http.MethodGet, nil, pluginFailed, "a plugin failed (plugin_failed): the hub " + none},
	} {
		s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Clock: core.NewSystemClock(nil),
			Authenticator: fakeAuthenticator{c.authenticates}}}
		app := fiber.New(fiber.Config{ErrorHandler: s.respondError})
		app.Add(c.method, "/", s.guard(route{scope: anyScope,
			handle: func(*fiber.Ctx, core.Caller) error { return c.handles }}))
		answer, err := app.Test(httptest.NewRequest(c.method, "/", nil), -1)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), c.says, "%+v", c)
		for _, cause := range []string{"EOF", "no such column", "panic"} {
			require.NotContains(t, string(text), cause, "%+v", c)
		}
	}
}

func TestClientsDoNotChooseSizeOfLogLines(t *testing.T) {
	var lines bytes.Buffer
	b := serveOnSocket(t, func(c *serverConfig) {
		c.Log, c.Callers = slog.New(slog.NewTextHandler(&lines, nil)), unknownCallers{}
	}, func(b *socketServer) {
		b.App.Post("/channel/api/v1/:platform/callback/:kind/",
			b.guard(route{scope: platformKey, handle: b.postCallback}))
		b.App.Get("/broken/*", func(*fiber.Ctx) error { return io.EOF })
	})
	long := strings.Repeat("%22", 4<<10)
	for _, text := range []string{"POST /channel/api/v1/" + long[:5<<10] + "/callback/" + long[:5<<10] + "/",
		"GET /" + long, "GET /broken/" + long} {
		_, answer := b.send(t, text+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		_, err := io.Copy(io.Discard, answer)
		require.NoError(t, err)
	}
	for _, message := range []string{"callback rejected", "request failed", "msg=request"} {
		require.Contains(t, lines.String(), message)
	}
	for line := range strings.Lines(lines.String()) {
		require.Less(t, len(line), 2<<10)
	}
}

// unknownCallers authenticates no callback, and says which.
type unknownCallers struct{ Callers }

func (unknownCallers) Authenticate(_ context.Context, sent relay.InboundCallback) (relay.Caller, error) {
	return relay.Caller{}, core.Errorf(core.Unauthenticated, "unknown platform %q", sent.Platform)
}

type fakeAuthenticator struct{ err error }

func (d fakeAuthenticator) Authenticate(context.Context, string) (core.Caller, error) {
	return core.Caller{Business: 7}, d.err
}

func (d fakeAuthenticator) Recognize(context.Context, string) (core.Caller, error) {
	return core.Caller{Business: 7}, d.err
}

// TestLostDatabaseReturnsServiceUnavailable distinguishes internal errors from temporary ones, because clients retry
// after a 503.
func TestLostDatabaseReturnsServiceUnavailable(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, http.StatusServiceUnavailable},
		{os.ErrDeadlineExceeded, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
		{io.EOF, http.StatusServiceUnavailable},
		{driver.ErrBadConn, http.StatusServiceUnavailable},
		{errors.New("no such column"), http.StatusInternalServerError},
		{core.Errorf(core.Internal, "a plugin failed"), http.StatusInternalServerError},
		{core.Errorf(core.Conflict, "it is over"), http.StatusConflict},
	} {
		s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Clock: core.NewSystemClock(nil)}}
		app := fiber.New()
		app.Get("/", func(ctx *fiber.Ctx) error { return s.respondError(ctx, fmt.Errorf("committing: %w", c.err)) })
		answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
		require.NoError(t, err)
		require.Equal(t, c.status, answer.StatusCode, "%v", c.err)
		require.Equal(t, c.status == http.StatusServiceUnavailable, answer.Header.Get("Retry-After") != "", "%v", c.err)
	}
}
