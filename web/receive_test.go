package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

// tenantAuthenticator takes the id of the business as the key.
type tenantAuthenticator struct{ fakeAuthenticator }

func (tenantAuthenticator) Authenticate(_ context.Context, authorization string) (core.Caller, error) {
	id, err := strconv.ParseInt(authorization, 10, 64)
	return core.Caller{Business: core.BusinessID(id)}, err
}

func TestBusinessLeavesMemoryForBodiesToOthers(t *testing.T) {
	const half = 2 << 20 // of the part for small bodies
	b := serveOnSocket(t, func(c *Config) {
		c.Authenticator, c.Memory = tenantAuthenticator{}, limit.NewMemory(64<<20)
	})
	entered, release := make(chan struct{}), make(chan struct{})
	b.App.Post("/body/", b.guard(route{scope: anyScope, body: body.Limit{Bytes: half, Class: limit.Small},
		handle: func(c *fiber.Ctx, caller core.Caller) error {
			if err := readBody(c).err; err != nil {
				return err
			}
			entered <- struct{}{}
			<-release
			return nil
		}}))
	send := func(business int, statuses chan int) {
		_, answer := b.send(t, fmt.Sprintf("POST /body/ HTTP/1.1\r\nHost: a\r\nAuthorization: %d\r\n"+
			"Content-Length: %d\r\n\r\n%s", business, half/2, strings.Repeat("x", half/2)))
		go func() {
			if response, err := http.ReadResponse(answer, nil); err == nil {
				statuses <- response.StatusCode
				_ = response.Body.Close()
			}
		}()
	}
	first, second := make(chan int, 4), make(chan int, 2)
	for range 3 {
		send(1, first)
		<-entered
	}
	send(2, second)
	require.Equal(t, http.StatusServiceUnavailable, <-second, "the part is full")
	release <- struct{}{}
	require.Equal(t, http.StatusOK, <-first)
	send(1, first)
	require.Equal(t, http.StatusServiceUnavailable, <-first, "it has half")
	send(2, second)
	<-entered
	close(release)
	require.Equal(t, http.StatusOK, <-second)
	require.Equal(t, http.StatusOK, <-first)
	require.Equal(t, http.StatusOK, <-first)
}
