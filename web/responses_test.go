package web

import (
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
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// A request that only reads, or that failed before its handler, was certainly not accepted.
func TestErrorSaysWhetherTheRequestMayBeAccepted(t *testing.T) {
	const doubt, none = "may or may not have accepted", "has not accepted"
	for _, c := range []struct {
		method  string
		knocks  error // the error of authentication
		handles error
		says    string
	}{
		{http.MethodPost, io.EOF, nil, none},
		{http.MethodPost, errors.New("no such column"), nil, none},
		{http.MethodPost, nil, io.EOF, doubt},
		{http.MethodPost, nil, errors.New("no such column"), doubt},
		{http.MethodGet, nil, io.EOF, none},
	} {
		s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Clock: core.NewSystemClock(nil),
			Authenticator: fakeAuthenticator{c.knocks}}}
		app := fiber.New(fiber.Config{ErrorHandler: s.respondError})
		app.Add(c.method, "/", s.guard(route{scope: anyScope,
			handle: func(*fiber.Ctx, core.Caller) error { return c.handles }}))
		answer, err := app.Test(httptest.NewRequest(c.method, "/", nil))
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), c.says, "%+v", c)
	}
}

type fakeAuthenticator struct{ err error }

func (d fakeAuthenticator) Authenticate(context.Context, string) (core.Caller, error) {
	return core.Caller{}, d.err
}

func (d fakeAuthenticator) Recognize(context.Context, string) (core.Caller, error) {
	return core.Caller{}, d.err
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
		answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil))
		require.NoError(t, err)
		require.Equal(t, c.status, answer.StatusCode, "%v", c.err)
		require.Equal(t, c.status == http.StatusServiceUnavailable, answer.Header.Get("Retry-After") != "", "%v", c.err)
	}
}
