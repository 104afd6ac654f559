package shell

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

func unchanged(context.Context, core.BusinessID) (string, error) { return "1", nil }

func hasEnded(w *watcher) bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func TestStreamsPerUserAreLimited(t *testing.T) {
	live := NewLive(unchanged, nil, slog.New(slog.DiscardHandler))
	first := live.watch(1, 7, "one")
	for range maxSessionStreams - 1 {
		live.watch(1, 7, "one")
	}
	require.False(t, hasEnded(first))
	live.watch(1, 7, "one")
	require.True(t, hasEnded(first), "the oldest of the session ends")
	require.Equal(t, maxSessionStreams, live.Streams())
	for n := range maxStreams {
		require.NotNil(t, live.watch(1, 7, fmt.Sprintf("session %d", n)))
	}
	require.Equal(t, maxUserStreams, live.Streams())
	other := live.watch(1, 8, "other")
	require.NotNil(t, other)
	live.unwatch(other)
	live.unwatch(first) // as its goroutine does
	require.Equal(t, maxUserStreams, live.Streams())
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	live := NewLive(unchanged, nil, slog.New(slog.DiscardHandler))
	mine, others := live.watch(1, 7, "mine"), live.watch(1, 7, "others")
	live.End("mine")
	require.True(t, hasEnded(mine))
	require.False(t, hasEnded(others))
	live.unwatch(mine) // as its goroutine does
	require.Equal(t, 1, live.Streams())
}

func TestStreamsEndWithBusinessAccess(t *testing.T) {
	users := map[string]access.User{"granted": {Businesses: []core.BusinessID{1}},
		"revoked": {Businesses: []core.BusinessID{2}}}
	live := NewLive(unchanged, func(context.Context, []string) (map[string]access.User, error) { return users, nil },
		slog.New(slog.DiscardHandler))
	granted, revoked, signedOut := live.watch(1, 7, "granted"), live.watch(1, 8, "revoked"),
		live.watch(1, 9, "signed out elsewhere")
	live.checkSessions(t.Context())
	require.False(t, hasEnded(granted))
	require.True(t, hasEnded(revoked))
	require.True(t, hasEnded(signedOut))
	require.Equal(t, 1, live.Streams())
}

func TestPageIsNotNotifiedOfAnEarlierChange(t *testing.T) {
	token := "1"
	var live *Live
	var last *watcher
	live = NewLive(func(context.Context, core.BusinessID) (string, error) {
		if last != nil {
			live.unwatch(last) // the last page closes while the token is read
		}
		return token, nil
	}, nil, slog.New(slog.DiscardHandler))
	last = live.watch(1, 7, "one")
	live.poll(t.Context())
	last, token = nil, "2"
	page := live.watch(1, 7, "one")
	live.fetchToken(t.Context(), 1)
	live.poll(t.Context())
	require.Empty(t, page.changed, "nothing changed while it was open")
	token = "3"
	live.poll(t.Context())
	require.Len(t, page.changed, 1)
}
