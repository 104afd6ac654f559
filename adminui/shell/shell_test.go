package shell

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/limit"
)

// oneUser is a store with one signed-in admin and no business.
type oneUser struct {
	access.Sessions
	clock core.Clock
}

func (o oneUser) SessionUser(context.Context, []byte) (access.Session, access.User, error) {
	return access.Session{CreatedAt: o.clock.Now(), SeenAt: o.clock.Now()}, access.User{Role: access.Admin}, nil
}

func (oneUser) Businesses(context.Context, []core.BusinessID, int) ([]core.Business, error) {
	return nil, nil
}

func TestClientLeavesMemoryForFormsToOthers(t *testing.T) {
	// The first response starts a goroutine that never ends.
	_, err := fiber.New().Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		memory, proxy := limit.NewMemory(64<<20), netip.MustParsePrefix("0.0.0.0/32") // of a test connection
		s := &Shell{Memory: memory, Proxies: []netip.Prefix{proxy},
			Clock: core.NewSystemClock(func() time.Duration { return 0 }), Log: slog.New(slog.DiscardHandler)}
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Post("/", s.publicForm(func(*fiber.Ctx) error { return nil }))
		post := func(client string) int {
			request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("a="+strings.Repeat("x", 10<<10)))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("X-Forwarded-For", client)
			response, err := app.Test(request, -1)
			require.NoError(t, err)
			return response.StatusCode
		}
		client := limit.Sender{Network: netip.MustParsePrefix("192.0.2.1/32")}
		held, other := memory.ReservationOf(limit.Anonymous, client), memory.NewReservation(limit.Anonymous)
		require.NoError(t, held.GrowBytes(t.Context(), held.ClampBytes(64<<20)/2))
		require.Equal(t, http.StatusOK, post("192.0.2.1"))
		require.Error(t, other.GrowBytes(t.Context(), other.ClampBytes(64<<20)))
		require.Equal(t, http.StatusServiceUnavailable, post("192.0.2.1"), "it has half, and another lacks memory")
		require.Equal(t, http.StatusOK, post("192.0.2.2"))
	})
}

func TestPageWithoutSlotIsBusy(t *testing.T) {
	clock := core.NewSystemClock(func() time.Duration { return 0 })
	user := oneUser{clock: clock}
	entered, release := make(chan struct{}), make(chan struct{})
	s := &Shell{Accounts: access.Accounts{Sessions: user, Clock: clock}, Businesses: user,
		Slots: NewSlots(1), Clock: clock, Log: slog.New(slog.DiscardHandler)}
	s.Pages = []Page{{Routes: []Route{
		Get(Root+"slow/", access.Viewer, func(c *fiber.Ctx, _ *PageContext) error {
			close(entered)
			<-release
			return c.SendString("slow")
		}),
		Get(Root+"other/", access.Viewer, func(c *fiber.Ctx, _ *PageContext) error { return c.SendString("other") }).
			WithoutSlot(),
		Get(Root+"quick/", access.Viewer, func(c *fiber.Ctx, _ *PageContext) error { return c.SendString("quick") }),
	}}}
	app := fiber.New()
	app.Use(func(c *fiber.Ctx) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if c.Get("X-Late") != "" {
			cancel()
		}
		c.SetUserContext(ctx)
		return c.Next()
	})
	s.Mount(app)
	get := func(path, late string) (int, string) {
		request := httptest.NewRequest(http.MethodGet, Root+path, nil)
		request.AddCookie(&http.Cookie{Name: string(SessionCookie), Value: "token"})
		request.Header.Set("X-Late", late)
		response, err := app.Test(request, int(time.Minute.Milliseconds()))
		if !assert.NoError(t, err) {
			return 0, ""
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		assert.NoError(t, err)
		return response.StatusCode, string(body)
	}
	done := make(chan string)
	go func() {
		_, body := get("slow/", "")
		done <- body
	}()
	<-entered
	status, body := get("quick/", "yes")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, text.Busy)
	status, body = get("other/", "yes")
	require.Equal(t, []any{http.StatusOK, "other"}, []any{status, body})
	close(release)
	require.Equal(t, "slow", <-done)
	status, body = get("quick/", "")
	require.Equal(t, []any{http.StatusOK, "quick"}, []any{status, body})
}
