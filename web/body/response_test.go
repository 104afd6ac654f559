package body

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
)

// reserved returns a large response of a business, and its part of the memory.
func reserved(t *testing.T, m *limit.Memory, raw bool) (response *fasthttp.Response, text []byte) {
	t.Helper()
	text, response = bytes.Repeat([]byte("menu"), 64<<10), &fasthttp.Response{}
	if raw {
		response.SetBodyRaw(text)
	} else {
		response.SetBody(text)
	}
	share := m.ReservationOf(limit.Responses, limit.Sender{Business: 1})
	require.NoError(t, ReserveResponse(t.Context(), response, share))
	return response, text
}

func used(m *limit.Memory) int64 {
	for _, u := range m.Usages() {
		if u.Class == limit.Responses {
			return u.Used
		}
	}
	return 0
}

func TestResponseHoldsMemoryUntilItIsSent(t *testing.T) {
	for _, raw := range []bool{true, false} {
		m := limit.NewMemory(64 << 20)
		response, text := reserved(t, m, raw)
		require.Equal(t, int64(len(text)), used(m))
		var sent bytes.Buffer
		require.NoError(t, response.BodyWriteTo(&sent))
		require.Equal(t, text, sent.Bytes())
		require.Zero(t, used(m))

		response, _ = reserved(t, m, raw)
		response.Reset() // as after the loss of the connection
		require.Zero(t, used(m))
	}
}

func TestSmallResponseNeedsNoMemory(t *testing.T) {
	m, response := limit.NewMemory(64<<20), &fasthttp.Response{}
	response.SetBodyRaw(make([]byte, maxUnreserved))
	require.NoError(t, ReserveResponse(t.Context(), response, m.NewReservation(limit.Responses)))
	require.False(t, response.IsBodyStream())
	require.Zero(t, used(m))
}

// slowClient takes a minute for each write, before which it calls a function.
type slowClient struct{ before func() }

func (c slowClient) Write(p []byte) (int, error) {
	time.Sleep(time.Minute)
	c.before()
	return len(p), nil
}

func TestSlowResponseEndsWhileOthersLackMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := limit.NewMemory(8 * 256 << 10)
		response, text := reserved(t, m, true)
		other := &fasthttp.Response{}
		other.SetBodyRaw(text)
		refused := func() {
			share := m.ReservationOf(limit.Responses, limit.Sender{Business: 2})
			err := ReserveResponse(context.Background(), other, share)
			require.Equal(t, core.Unavailable, core.CodeOf(err))
		}
		require.ErrorIs(t, response.BodyWriteTo(slowClient{refused}), errTooSlow)
		require.Zero(t, used(m))

		response, _ = reserved(t, m, true)
		time.Sleep(time.Minute) // the others no longer lack memory
		require.NoError(t, response.BodyWriteTo(slowClient{func() {}}))
		require.Zero(t, used(m))
	})
}
