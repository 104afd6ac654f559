package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/relay"
)

// keyedCallers accepts one key. Another key cannot be checked now.
type keyedCallers struct {
	Callers
	asked int
}

func (k *keyedCallers) Authenticate(_ context.Context, sent relay.InboundCallback) (relay.Caller, error) {
	k.asked++
	switch sent.Key {
	case "right":
		return relay.Caller{Business: 7, Platform: sent.Platform}, nil
	case "unknown":
		return relay.Caller{}, core.Errorf(core.Unavailable, "resend it later")
	}
	return relay.Caller{}, core.Errorf(core.Unauthenticated, "the key is wrong")
}

func (k *keyedCallers) Claim(context.Context, relay.Caller) error     { return nil }
func (k *keyedCallers) End(context.Context, relay.Caller, bool) error { return nil }

// fixedClock is a clock that a test sets.
type fixedClock struct {
	core.Clock
	now time.Time
}

func (c *fixedClock) Now() time.Time { return c.now }

// freeThrottle allows everything.
type freeThrottle struct{}

func (freeThrottle) Take(context.Context, core.BusinessID, string, limit.Rule) (limit.Decision, error) {
	return limit.Decision{Allowed: true}, nil
}

// callbackServer accepts callbacks without processing them. At most three rejected ones of an address are authenticated
// in a minute.
type callbackServer struct {
	*Server
	callers *keyedCallers
	clock   *fixedClock
	lines   bytes.Buffer
}

func newCallbackServer() *callbackServer {
	b := &callbackServer{callers: &keyedCallers{}, clock: &fixedClock{now: time.Unix(1_700_000_000, 0)}}
	b.Server = New(Config{SystemOnly: true, MaxBody: 1 << 20, Observer: noopObserver{}, Clock: b.clock,
		Log: slog.New(slog.NewTextHandler(&b.lines, nil)), Callers: b.callers, Throttle: freeThrottle{},
		Addresses: limit.Throttle{States: &limit.LocalStates{}, Clock: b.clock},
		Limits:    map[Limit]limit.Rule{LimitCallbacks: {Count: 3, Per: time.Minute}},
		Proxies:   []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")}}) // of App.Test
	handle := b.guard(route{scope: platformKey, limit: LimitCallbacks, handle: func(c *fiber.Ctx, _ core.Caller) error {
		return b.handleCallback(c, func(relay.InboundCallback, relay.InboundRequest) error { return nil })
	}})
	b.App.Get(sharedPath+":plugin/callback/:kind/", handle)
	b.App.Get("/channel/api/v1/:platform/callback/:kind/", handle)
	return b
}

func (b *callbackServer) send(t *testing.T, platform, client, key string) *http.Response {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/channel/api/v1/"+platform+"/callback/order/", nil)
	request.Header.Set("X-Forwarded-For", client)
	request.Header.Set(headerPlatformSecret, key)
	response, err := b.App.Test(request, -1)
	require.NoError(t, err)
	return response
}

func TestRejectedCallbacksOfAnAddressAreLimited(t *testing.T) {
	b := newCallbackServer()
	const client, other = "203.0.113.7", "203.0.113.8"
	for range 5 {
		require.Equal(t, 200, b.send(t, "a", client, "right").StatusCode, "accepted requests do not count")
	}
	require.Equal(t, 401, b.send(t, "a", client, "wrong").StatusCode)
	require.Equal(t, 401, b.send(t, "b", client, "wrong").StatusCode)
	require.Equal(t, 503, b.send(t, "b", client, "unknown").StatusCode)
	asked := b.callers.asked
	for _, key := range []string{"wrong", "unknown", "right"} {
		response := b.send(t, "c", client, key)
		require.Equal(t, 429, response.StatusCode)
		require.Equal(t, "60", response.Header.Get("Retry-After"))
	}
	require.Equal(t, asked, b.callers.asked)
	require.Equal(t, 200, b.send(t, "a", other, "right").StatusCode, "another client of the same proxy")
	require.Equal(t, 200, b.send(t, "shared/a", client, "right").StatusCode, "a shared URL counts by itself")
	b.clock.now = b.clock.now.Add(time.Minute)
	require.Equal(t, 200, b.send(t, "c", client, "right").StatusCode)
}

func TestRejectionsAreLoggedOncePerSecond(t *testing.T) {
	b := newCallbackServer()
	rejected := func(platform string) int {
		for n := range 2 {
			b.send(t, platform, "203.0.113."+string(rune('1'+n)), "wrong")
		}
		return strings.Count(b.lines.String(), "callback rejected")
	}
	require.Equal(t, 1, rejected("a"))
	require.Equal(t, 2, rejected("b"))
	b.clock.now = b.clock.now.Add(time.Second)
	require.Equal(t, 3, rejected("a"))
}
