package shell

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/access"
)

func TestUserHoldsAtMostHalfOfTheSlots(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	s := NewSlots(4)
	first, second := s.take(t.Context(), 1), s.take(t.Context(), 1)
	for range 100 { // a free slot would be taken sooner or later
		require.Nil(t, s.take(late, 1))
	}
	third, fourth := s.take(t.Context(), 2), s.take(t.Context(), 2)
	require.Nil(t, s.take(late, 3), "all are held")
	for _, release := range []func(){first, second, third, fourth} {
		release()
	}
	require.Empty(t, s.users)
	require.Empty(t, s.all)
}

func TestFreeSlotLetsAPageReadInTwo(t *testing.T) {
	s := NewSlots(4)
	v := &PageContext{User: access.User{ID: 1}, shell: &Shell{Slots: s}}
	release := s.take(t.Context(), 1)
	met := make(chan struct{})
	require.NoError(t, v.Both(t.Context(), func(context.Context) error { met <- struct{}{}; return nil },
		func(context.Context) error { <-met; return nil }))
	failed := errors.New("failed")
	require.ErrorIs(t, v.Both(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		func(context.Context) error { return failed }), failed)
	require.ErrorContains(t, v.Both(t.Context(), func(context.Context) error { panic("a panic") },
		func(context.Context) error { return nil }), "a panic")

	other := s.take(t.Context(), 1) // the user's last
	ended := false
	require.NoError(t, v.Both(t.Context(), func(context.Context) error { ended = true; return nil },
		func(context.Context) error { require.True(t, ended); return nil }))
	release()
	other()
	require.Empty(t, s.users)
	require.Empty(t, s.all)
}
