package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

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
	entered, release := make(chan struct{}), make(chan struct{})
	held := func(c *fiber.Ctx, _ core.Caller) error {
		if err := readBody(c).err; err != nil {
			return err
		}
		entered <- struct{}{}
		<-release
		return nil
	}
	b := serveOnSocket(t, func(c *serverConfig) {
		c.Authenticator, c.Memory = tenantAuthenticator{}, limit.NewMemory(64<<20)
	}, func(b *socketServer) {
		b.App.Post("/body/", b.guard(route{scope: anyScope, body: body.Limit{Bytes: half, Class: limit.Small},
			handle: held}))
	})
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
		await(t, entered)
	}
	send(2, second)
	require.Equal(t, http.StatusServiceUnavailable, await(t, second), "the part is full")
	release <- struct{}{}
	require.Equal(t, http.StatusOK, await(t, first))
	send(1, first)
	require.Equal(t, http.StatusServiceUnavailable, await(t, first), "it has half")
	send(2, second)
	await(t, entered)
	close(release)
	require.Equal(t, http.StatusOK, await(t, second))
	require.Equal(t, http.StatusOK, await(t, first))
	require.Equal(t, http.StatusOK, await(t, first))
}

func TestUnreadResponseHoldsMemoryUntilItsConnectionEnds(t *testing.T) {
	const size = 32 << 20 // more than the buffers of a socket
	memory := limit.NewMemory(8 * size)
	b := serveOnSocket(t, func(c *serverConfig) { c.Authenticator, c.Memory = tenantAuthenticator{}, memory },
		func(b *socketServer) {
			b.App.Get("/menu/", b.guard(route{scope: anyScope, handle: func(c *fiber.Ctx, _ core.Caller) error {
				return send(c, http.StatusOK, make([]byte, size))
			}}))
		})
	held := func(bytes int64) func() bool {
		return func() bool {
			for _, u := range memory.Usages() {
				if u.Class == limit.Responses {
					return u.Used == bytes
				}
			}
			return false
		}
	}
	conn, _ := b.send(t, "GET /menu/ HTTP/1.1\r\nHost: a\r\nAuthorization: 1\r\n\r\n")
	require.Eventually(t, held(size), patience, time.Millisecond)
	_, answer := b.send(t, "GET /menu/ HTTP/1.1\r\nHost: a\r\nAuthorization: 2\r\n\r\n")
	response, err := http.ReadResponse(answer, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	_ = response.Body.Close()
	require.NoError(t, conn.Close())
	require.Eventually(t, held(0), patience, time.Millisecond)
}

// await returns the next value of a channel. It fails if none comes.
func await[T any](t *testing.T, values <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-values:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return value
}
