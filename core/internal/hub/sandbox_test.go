package hub

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/sandbox"
	"github.com/servery-hub/servery/plugins/simulator"
)

// A business in test mode runs one scenario at a time, to its end or to the shutdown of the hub.
func TestSandboxRunsOneScenarioAtATime(t *testing.T) {
	s := newSimulatorClient(t)
	p := sandbox.NewRunner(s.hub.db, sandbox.Options{DataDir: t.TempDir(), BaseURL: s.hubURL})
	play := func(business core.BusinessID, scenario console.Scenario) error {
		return p.StartScenario(t.Context(), business, scenario,
			access.Change{Business: business, Actor: "user:sam@example.com", Action: "sandbox.play", Why: "a try"})
	}
	refusing := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	s.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, refusing.URL))
	rush := console.Scenario{Kind: "rush", Store: "s1", Platform: "web", Count: 20, Rate: 200, Seed: 7}
	require.Equal(t, core.Unavailable, core.CodeOf(play(s.tenant.ID, rush)), "before the hub runs")
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); p.Run(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })
	hubtest.WaitUntil(t, "the playground",
		func() bool { return core.CodeOf(play(s.tenant.ID, rush)) != core.Unavailable })

	var played console.ScenarioRun
	hubtest.WaitUntil(t, "the end of the rush", func() bool {
		var err error
		played, _, err = p.LatestRun(t.Context(), s.tenant.ID)
		require.NoError(t, err)
		return !played.EndedAt.IsZero()
	})
	require.Empty(t, played.Failure)
	require.Equal(t, []any{1, "order", 20, 0},
		[]any{len(played.Calls), played.Calls[0].Name, played.Calls[0].Count, played.Calls[0].Failed})
	require.Equal(t, rush, played.Scenario)
	s.awaitOrderEvents(20)
	hubtest.WaitUntil(t, "the arrivals", func() bool {
		var err error
		played, _, err = p.LatestRun(t.Context(), s.tenant.ID)
		require.NoError(t, err)
		return played.Deliveries.Delivered == 20
	})
	require.Equal(t, []int{20, 0, 20},
		[]int{played.Deliveries.NewOrders, played.Deliveries.KnownOrders, played.Deliveries.Failed +
			played.Deliveries.Waiting},
		"another receiver refuses them")
	require.LessOrEqual(t, played.Deliveries.P50, played.Deliveries.P99)
	require.Positive(t, played.Deliveries.P50)
	hubtest.WaitUntil(t, "what is refused", func() bool {
		played, _, err := p.LatestRun(t.Context(), s.tenant.ID)
		require.NoError(t, err)
		require.LessOrEqual(t, played.Deliveries.Retried, played.Deliveries.Waiting)
		require.Equal(t, []int{20, 20},
			[]int{played.Deliveries.Delivered, played.Deliveries.Failed + played.Deliveries.Waiting})
		return played.Deliveries.Retried > 0
	})

	require.ErrorContains(t, play(hubtest.Business(t, s.hub.db).ID, rush), "not in test mode")
	require.ErrorContains(t, play(s.tenant.ID, console.Scenario{Kind: "order", Store: "s9", Count: 1}), `no store "s9"`)
	require.ErrorContains(t, play(s.tenant.ID, console.Scenario{Kind: "order", Store: "s1", Count: 501}),
		"orders must be")
	slow := console.Scenario{Kind: "order", Store: "s1", Platform: "web", Count: 2, Rate: 0.001}
	require.NoError(t, play(s.tenant.ID, slow), "after what could not be begun")
	require.Equal(t, core.Conflict, core.CodeOf(play(s.tenant.ID, rush)), "one at a time")
	stop()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		require.FailNow(t, "what is played outlives the hub")
	}
	played, _, err := p.LatestRun(t.Context(), s.tenant.ID)
	require.NoError(t, err)
	require.False(t, played.EndedAt.IsZero())
	require.Contains(t, played.Failure, "canceled")
	require.Equal(t, core.Unavailable, core.CodeOf(play(s.tenant.ID, rush)), "after the hub's end")
}

func TestSandboxFaultsAreSwitchedOnAndOff(t *testing.T) {
	s := newSimulatorClient(t)
	p := sandbox.NewRunner(s.hub.db, sandbox.Options{})
	change := access.Change{Business: s.tenant.ID, Actor: "user:sam@example.com", Action: "sandbox.fault", Why: "a try"}
	on := func(business core.BusinessID, f console.Fault) error {
		return p.InjectFault(t.Context(), business, f, change)
	}
	faults := func() []console.Fault {
		list, err := p.Faults(t.Context(), s.tenant.ID)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, faults())
	other := hubtest.Business(t, s.hub.db).ID
	for says, f := range map[string]console.Fault{
		"kind": {Kind: "eat"}, "status must be": {Kind: "fail", Status: 200},
		`platform "web" is not simulated, only: aggregator-a,`: {Kind: "hang", Platform: "web"},
		"lasts_ms must be": {Kind: "hang", Duration: 48 * time.Hour}, "delay_ms must be": {Kind: "delay"},
	} {
		err := on(s.tenant.ID, f)
		require.ErrorContains(t, err, says)
		require.Equal(t, core.Invalid, core.CodeOf(err))
	}
	require.ErrorIs(t, on(other, console.Fault{Kind: "hang"}), sandbox.ErrNotSimulated)
	require.Empty(t, faults(), "what is wrong is not switched on")
	s.setFault(simulator.Fault{Kind: simulator.FaultDelay, DelayMS: 1, Call: simulator.CallMenu})
	s.setFault(simulator.Fault{Kind: simulator.FaultHang, Space: fmt.Sprint(other)})

	require.NoError(t, on(s.tenant.ID,
		console.Fault{Kind: "fail", Platform: "aggregator-b", Call: "rider_status", Status: 500, Duration: time.Hour}))
	require.Equal(t, []string{"delay", "fail"}, []string{faults()[0].Kind, faults()[1].Kind})
	require.True(t, faults()[0].Global)
	require.False(t, faults()[1].Until.IsZero())
	id, its := s.placeOrder("aggregator-b", 1, selfDelivery)
	s.ok("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,"status":"ASSIGNED","rider_data":%s}`, id, riderData))
	s.waitAdvancing(t, "the fault", func() bool { return faults()[1].Hits > 0 })

	require.NoError(t, p.ClearFaults(t.Context(), s.tenant.ID, change))
	require.Len(t, faults(), 1, "what the simulator was started with stays")
	s.awaitAggregatorCalls("aggregator-b", its, simulator.CallRiderStatus, 1)
	entries, err := consolelists.New(s.hub.db).Audit(t.Context(), s.tenant.ID,
		console.EntryFilter{Limit: 10, Actor: "user:sam@example.com"})
	require.NoError(t, err)
	require.Len(t, entries, 2, "one for each switch that was made")
}

func TestConsoleOffersEveryFault(t *testing.T) {
	offered := func(of, wrong string) []string {
		_, err := simulator.ParseFault(wrong)
		_, list, _ := strings.Cut(err.Error(), of+" must be one of: ")
		return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
	}
	require.Equal(t, console.FaultKinds, offered(`kind "eat"`, "eat"))
	require.Equal(t, console.FaultCalls,
		append(offered(`call "x"`, "fail:call=x"), offered(`call "x"`, "duplicate:call=x")...))
}
