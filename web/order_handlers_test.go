package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// cachedKey is an Authenticator whose cached key works. Reading the key returns err.
type cachedKey struct{ err error }

func (k cachedKey) Recognize(context.Context, string) (core.Caller, error) {
	return core.Caller{Business: 7, Scope: core.ScopeChannel, Platform: "web"}, nil
}

func (k cachedKey) Authenticate(context.Context, string) (core.Caller, error) {
	return core.Caller{}, k.err
}

// rejectionLog counts the rejected orders.
type rejectionLog struct {
	Orders
	recorded int
}

func (l *rejectionLog) RecordRejected(context.Context, order.Rejection) error {
	l.recorded++
	return nil
}

func TestRejectedOrderIsRecordedUnlessItsKeyFails(t *testing.T) {
	invalid := core.Errorf(core.Invalid, "items must have at least one item")
	busy := core.Errorf(core.Unavailable, "the hub is busy")
	revoked := core.Errorf(core.Forbidden, "this API key is disabled")
	deleted := core.Errorf(core.Unauthenticated, "send a valid key")
	for _, c := range []struct {
		reason, key error
		status      int
		recorded    int
	}{
		{invalid, nil, http.StatusBadRequest, 1},
		{invalid, io.EOF, http.StatusBadRequest, 1},
		{invalid, busy, http.StatusBadRequest, 1},
		{busy, nil, http.StatusServiceUnavailable, 1},
		{busy, io.EOF, http.StatusServiceUnavailable, 1},
		{invalid, revoked, http.StatusForbidden, 0},
		{invalid, deleted, http.StatusUnauthorized, 0},
		{busy, revoked, http.StatusForbidden, 0},
	} {
		log := &rejectionLog{}
		s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Clock: core.NewSystemClock(nil), Orders: log,
			Authenticator: cachedKey{c.key}}}
		app := fiber.New(fiber.Config{ErrorHandler: s.respondError})
		caller, err := cachedKey{}.Recognize(t.Context(), "")
		require.NoError(t, err)
		app.Post("/", func(ctx *fiber.Ctx) error { return s.refuseOrder(ctx, caller, []byte(`{}`), c.reason) })
		response, err := app.Test(httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")), -1)
		require.NoError(t, err)
		require.Equal(t, []int{c.status, c.recorded}, []int{response.StatusCode, log.recorded}, "%v, %v", c.reason,
			c.key)
	}
}

func TestUnreadableKeyDoesNotHideTheError(t *testing.T) {
	s := &Server{Config: Config{Log: slog.New(slog.DiscardHandler), Clock: core.NewSystemClock(nil),
		Authenticator: cachedKey{io.EOF}}}
	app := fiber.New(fiber.Config{ErrorHandler: s.respondError})
	app.Post(postOrderPath, s.guard(route{method: http.MethodPost, path: postOrderPath, scope: core.ScopePOS}))
	response, err := app.Test(httptest.NewRequest(http.MethodPost, postOrderPath, nil), -1)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}
