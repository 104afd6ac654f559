package shell

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
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

func TestPageWithoutSlotIsBusy(t *testing.T) {
	clock := core.NewSystemClock(func() time.Duration { return 0 })
	user := oneUser{clock: clock}
	entered, release := make(chan struct{}), make(chan struct{})
	s := &Shell{Accounts: access.Accounts{Sessions: user, Clock: clock}, Businesses: user,
		Slots: make(chan struct{}, 1), Clock: clock, Log: slog.New(slog.DiscardHandler)}
	s.Pages = []Page{{Routes: []Route{
		Get(Root+"slow/", access.Viewer, func(c *fiber.Ctx, _ *PageContext) error {
			close(entered)
			<-release
			return c.SendString("slow")
		}),
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
		request.AddCookie(&http.Cookie{Name: sessionCookie, Value: "token"})
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
	close(release)
	require.Equal(t, "slow", <-done)
	status, body = get("quick/", "")
	require.Equal(t, []any{http.StatusOK, "quick"}, []any{status, body})
}
