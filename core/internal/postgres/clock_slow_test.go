package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/clocktest"
)

// slowClock makes the first reads of the database's clock take 3 s, and counts all.
type slowClock struct {
	clock       *clocktest.Clock
	slow, reads int
}

func (*slowClock) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *slowClock) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if event.Query != "SELECT clock_timestamp()" {
		return
	}
	if s.reads++; s.reads <= s.slow {
		s.clock.Advance(3 * time.Second)
	}
}

func TestSlowMeasurementOfTheClockIsAnError(t *testing.T) {
	clock := clocktest.New()
	db := openDatabase(t, clock)
	db.bun.AddQueryHook(&slowClock{clock: clock, slow: 3})
	require.ErrorContains(t, db.SyncClock(t.Context()), "a round trip takes 3s")
}

func TestSlowMeasurementOfTheClockDelaysTheStart(t *testing.T) {
	clock := clocktest.New()
	db := openDatabase(t, clock)
	hook := &slowClock{clock: clock, slow: 3} // those of the first measurement
	db.bun.AddQueryHook(hook)
	db.config.Clock = nil
	require.NoError(t, db.waitUntilReady(t.Context()))
	require.Equal(t, 4, hook.reads)
}
