package shell

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
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
