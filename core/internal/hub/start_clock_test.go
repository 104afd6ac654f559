package hub

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// slowTrips lets the first round trips that read the database's clock take three seconds.
type slowTrips struct {
	clock *clocktest.Clock
	left  int
}

func (*slowTrips) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *slowTrips) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if s.left > 0 && strings.Contains(event.Query, "clock_timestamp()") {
		s.left--
		s.clock.Advance(3 * time.Second)
	}
}

func TestSlowRoundTripDoesNotFailTheStart(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	trips := &slowTrips{clock: clock, left: 6}
	db.Bun().AddQueryHook(trips)
	require.NoError(t, (&Hub{db: db}).startClock(t.Context()))
	require.Zero(t, trips.left)
	trips.left = 100
	require.ErrorContains(t, (&Hub{db: db}).startClock(t.Context()), "a round trip takes 3s")
}
