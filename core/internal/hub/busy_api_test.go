package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/plugins/simulator"
)

// busyOn returns the platforms on which s1 is busy.
func (s *toggleClient) busyOn() (platforms []any) {
	s.t.Helper()
	list, _ := s.ok("GET", storesRoute+"s1/", "").body["busy_on"].([]any)
	for _, one := range list {
		platforms = append(platforms, hubtest.Lookup(one, "platform"))
	}
	return platforms
}

func TestBusyStoreIsReportedUntilItsEnd(t *testing.T) {
	s := newToggleClient(t)
	menus := s.aggregatorStore("aggregator-b").Menus
	until := s.clock.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
	reference := s.postToggle(locationRoute, fmt.Sprintf(`{"location_ref_id":"s1","action":"busy","prep_minutes":40,`+
		`"platforms":["aggregator-a","aggregator-b","web"],"until":%d}`, until.UnixMilli()))
	outcomes := s.awaitOutcomes("store_action", reference, 3)
	for platform, done := range map[string]bool{"aggregator-a": true, "web": true, "aggregator-b": false} {
		reported := outcomes[platform]
		require.Equal(t, []any{"busy", done, "api", 40.0, float64(until.UnixMilli())}, []any{reported["action"],
			reported["status"], reported["action_src"], reported["prep_minutes"], reported["until"]}, platform)
	}
	require.Equal(t, "aggregator-b cannot be notified through the hub that a store is busy",
		outcomes["aggregator-b"]["message"])
	there := s.aggregatorStore("aggregator-a")
	require.Equal(t, []any{true, true, int64(40)}, []any{there.Open, there.Busy, there.PrepMinutes})
	require.Equal(t, []any{"aggregator-a", "web"}, s.busyOn(), "not on a platform that does not support it")
	shown := s.ok("GET", channelStoresRoute, "").body["stores"].([]any)[0]
	require.Equal(t, 40.0, hubtest.Lookup(hubtest.Lookup(shown, "busy_on").([]any)[0], "prep_minutes"))
	require.Nil(t, hubtest.Lookup(hubtest.Lookup(shown, "busy_on").([]any)[0], "actor"))

	s.clock.Advance(30 * time.Minute)
	s.advanceUntil("the end of busy", func() bool {
		return !s.aggregatorStore("aggregator-a").Busy && len(s.busyOn()) == 0
	})
	s.advanceUntil("the event of the end", func() bool {
		ended := s.awaitOutcomes("store_action", reference, 3)["aggregator-a"]
		return ended["action"] == "normal" && ended["action_src"] == "timer" && ended["until"] == nil
	})
	s.settle()
	require.Equal(t, menus, s.aggregatorStore("aggregator-b").Menus, "no menu is published for it")
}

func TestFailedBusyRestoresTheAcceptedOne(t *testing.T) {
	s := newToggleClient(t)
	busy := func(fields string) map[string]any {
		reference := s.postToggle(locationRoute,
			`{"location_ref_id":"s1","action":"busy","platforms":["aggregator-a"],`+fields+`}`)
		return s.awaitOutcomes("store_action", reference, 1)["aggregator-a"]
	}
	until := s.clock.Now().Add(30 * time.Minute).UTC().Truncate(time.Second)
	require.Equal(t, true, busy(fmt.Sprintf(`"prep_minutes":20,"until":%d`, until.UnixMilli()))["status"])
	for range 2 {
		s.setFault(simulator.Fault{Kind: simulator.FaultRefuse, Call: simulator.CallStoreState, Times: 1})
		require.Equal(t, false, busy(`"prep_minutes":50`)["status"])
		shown := s.ok("GET", storesRoute+"s1/", "").body["busy_on"].([]any)
		require.Len(t, shown, 1)
		require.Equal(t, []any{20.0, float64(until.UnixMilli())}, []any{hubtest.Lookup(shown[0], "prep_minutes"),
			hubtest.Lookup(shown[0], "until")})
	}
	s.clock.Advance(30 * time.Minute)
	s.advanceUntil("the end of busy", func() bool {
		return !s.aggregatorStore("aggregator-a").Busy && len(s.busyOn()) == 0
	})
}

func TestBusyStoreBecomesNormalOnRequest(t *testing.T) {
	s := newToggleClient(t)
	for range 2 { // an unchanged state is reported too
		reference := s.postToggle(locationRoute,
			`{"location_ref_id":"s1","action":"busy","platforms":["aggregator-a"]}`)
		require.Equal(t, true, s.awaitOutcomes("store_action", reference, 1)["aggregator-a"]["status"])
		require.True(t, s.aggregatorStore("aggregator-a").Busy)
	}
	audited := s.auditActions()
	require.Equal(t, 1, audited["store.busy"], "only a change is audited")
	reference := s.postToggle(locationRoute, `{"location_ref_id":"s1","action":"normal","until":1}`)
	outcomes := s.awaitOutcomes("store_action", reference, 5)
	there := outcomes["aggregator-a"]
	require.Equal(t, []any{"normal", true}, []any{there["action"], there["status"]})
	require.False(t, s.aggregatorStore("aggregator-a").Busy)
	require.Empty(t, s.busyOn())
	require.Equal(t, 1, s.auditActions()["store.normal"])
}

// auditActions counts the audit entries by action.
func (s *toggleClient) auditActions() map[string]int {
	s.t.Helper()
	rows, err := s.hub.db.Bun().Query(`SELECT action, count(*) FROM audit WHERE business_id = ? GROUP BY 1`,
		s.tenant.ID)
	require.NoError(s.t, err)
	defer rows.Close()
	counts := map[string]int{}
	for rows.Next() {
		var action string
		var n int
		require.NoError(s.t, rows.Scan(&action, &n))
		counts[action] = n
	}
	return counts
}

func TestInvalidBusyRequestsNameTheField(t *testing.T) {
	s := newMenuClient(t, unlimited)
	for fields, wrong := range map[string]string{
		`"prep_minutes":181`:    "prep_minutes must be at most 180, not 181",
		`"prep_minutes":-1`:     "prep_minutes must be a positive whole number",
		`"until":"tomorrow"`:    "until must be a positive whole number",
		`"until":1577836800000`: "until must be between 5 minutes and 24 hours from now, in epoch milliseconds",
	} {
		r := s.send("POST", locationRoute, `{"location_ref_id":"s1","action":"busy",`+fields+`}`)
		requireEnvelope(t, r, 400, wrong)
	}
}
