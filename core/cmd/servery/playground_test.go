package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// TestScenariosOfTheConsoleArePlayedOneAtATime: in test mode alone, to their end
// or to the hub's.
func TestScenariosOfTheConsoleArePlayedOneAtATime(t *testing.T) {
	s := newStage(t)
	p := &playground{db: s.hub.db, flags: simulateFlags{databaseFlags: databaseFlags{DataDir: t.TempDir()}, BaseURL: s.at}}
	play := func(business core.BusinessID, scenario console.Scenario) error {
		return p.Play(t.Context(), business, scenario, access.Change{Business: business, Actor: "user:sam@example.com", Action: "sandbox.play", Why: "a try"})
	}
	rush := console.Scenario{Kind: "rush", Store: "s1", Platform: "web", Count: 20, Rate: 200, Seed: 7}
	require.Equal(t, core.Unavailable, core.CodeOf(play(s.tenant.ID, rush)), "before the hub runs")
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); p.run(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })
	waitUntil(t, "the playground", func() bool { return core.CodeOf(play(s.tenant.ID, rush)) != core.Unavailable })

	var played console.Played
	waitUntil(t, "the end of the rush", func() bool {
		played, _ = p.Latest(s.tenant.ID)
		return !played.Ended.IsZero()
	})
	require.Empty(t, played.Failure)
	require.Equal(t, []any{1, "order", 20, 0}, []any{len(played.Calls), played.Calls[0].Name, played.Calls[0].Count, played.Calls[0].Failed})
	require.Equal(t, rush, played.Scenario)
	s.awaitOrderEvents(20)

	require.ErrorContains(t, play(hubtest.Business(t, s.hub.db).ID, rush), "not in test mode")
	require.ErrorContains(t, play(s.tenant.ID, console.Scenario{Kind: "order", Store: "s9", Count: 1}), `no store "s9"`)
	require.ErrorContains(t, play(s.tenant.ID, console.Scenario{Kind: "order", Store: "s1", Count: 501}), "count must be")
	slow := console.Scenario{Kind: "order", Store: "s1", Platform: "web", Count: 2, Rate: 0.001}
	require.NoError(t, play(s.tenant.ID, slow), "after what could not be begun")
	require.Equal(t, core.Conflict, core.CodeOf(play(s.tenant.ID, rush)), "one at a time")
	stop()
	select {
	case <-stopped:
	case <-time.After(patience):
		require.FailNow(t, "what is played outlives the hub")
	}
	played, _ = p.Latest(s.tenant.ID)
	require.False(t, played.Ended.IsZero())
	require.Contains(t, played.Failure, "canceled")
	require.Equal(t, core.Unavailable, core.CodeOf(play(s.tenant.ID, rush)), "after the hub's end")
}
