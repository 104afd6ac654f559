package hub

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
)

func TestConsoleStatisticsAddUpOverReplicas(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	tenant, records, ctx := hubtest.Business(t, db), consoleview.New(db), context.Background()
	sub := hubtest.Subscribe(t, db, tenant.ID, core.OrderPlaced, "https://pos.example/hook")
	now := db.Clock().Now()
	attempt := func(tally *console.AttemptCounter, minutes int, class string) {
		tally.Count(console.Attempt{Business: tenant.ID, Webhook: sub.ID, Delivery: core.NewID(now),
			At: now.Add(time.Duration(minutes) * time.Minute), Took: time.Second, Class: class, Status: 503})
	}
	var one, other console.AttemptCounter
	attempt(&one, -30, "")
	attempt(&one, -20, "status")
	attempt(&other, -10, "status")
	require.NoError(t, records.AddSums(ctx, other.Take()))
	require.NoError(t, records.AddSums(ctx, one.Take()))
	e, err := records.Endpoint(ctx, tenant.ID, sub.ID)
	require.NoError(t, err)
	require.Equal(t, console.Count{Succeeded: 1, Failed: 2, TotalTime: 3 * time.Second, Slowest: time.Second},
		e.LastDay)
	require.True(t, e.Health.FailingSince.Equal(now.Add(-20*time.Minute)),
		"the first refusal since it was accepted, whichever replica saw it")
	troubled, err := records.UnhealthyEndpoints(ctx, []core.BusinessID{tenant.ID}, 9)
	require.NoError(t, err)
	require.Len(t, troubled, 1)
	attempt(&one, -5, "")
	require.NoError(t, records.AddSums(ctx, one.Take()))
	e, err = records.Endpoint(ctx, tenant.ID, sub.ID)
	require.NoError(t, err)
	require.True(t, e.Health.FailingSince.IsZero(), "one that is accepted ends it")
	minutes, err := records.Counts(ctx, []core.BusinessID{tenant.ID}, 0, time.Minute, now.Add(-time.Hour))
	require.NoError(t, err)
	require.Len(t, minutes, 4)
	require.NoError(t, records.DeleteExpiredCounts(ctx))
}
