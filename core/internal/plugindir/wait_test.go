package plugindir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
)

func TestReadinessOfAPluginInRunningHubs(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	first, second := core.ID{1}, core.ID{2}
	report := func(hub core.ID, plugin, build string, state pluginhost.State, reason string) console.PluginHub {
		return console.PluginHub{Plugin: plugin, Hub: hub, At: at, Version: "2.0.0", State: string(state), Since: at,
			Reason: reason, Build: build}
	}
	ready := report(first, "tasty", "new", pluginhost.Ready, "")
	on := func(hub core.ID, problem string) []string {
		return []string{"hub " + hub.String() + ", reported 2026-11-21T09:30:00Z: " + problem}
	}
	for name, c := range map[string]struct {
		reports []console.PluginHub
		want    []string
	}{
		"ready in each": {[]console.PluginHub{report(second, "tasty", "new", pluginhost.Ready, ""), ready,
			report(second, "other", "x", pluginhost.Backoff, "it fails")}, nil},
		"no hub": {nil, []string{
			"no running hub reports it: start one with this database and this SERVERY_PLUGIN_DIR"}},
		"another build": {[]console.PluginHub{ready, report(second, "tasty", "old", pluginhost.Ready, "")},
			on(second, "another build is ready there")},
		"not installed": {[]console.PluginHub{ready, report(second, "other", "x", pluginhost.Ready, "")},
			on(second, "it does not have the plugin: install it in the SERVERY_PLUGIN_DIR of that hub too")},
		"starting": {[]console.PluginHub{report(first, "tasty", "", pluginhost.Starting, "")},
			on(first, "version 2.0.0 is starting since 2026-11-21T09:30:00Z")},
		"not started": {[]console.PluginHub{report(first, "tasty", "old", pluginhost.Backoff, "it has no disk")},
			on(first, "version 2.0.0 is backoff since 2026-11-21T09:30:00Z: it has no disk")},
		"degraded": {[]console.PluginHub{report(first, "tasty", "new", pluginhost.Degraded, "the cache is cold")},
			nil},
		"another build degraded": {[]console.PluginHub{
			report(first, "tasty", "old", pluginhost.Degraded, "the cache is cold")},
			on(first, "another build is degraded there: the cache is cold")},
		"quarantined": {[]console.PluginHub{report(first, "tasty", "", pluginhost.Quarantined, "it exited (7)"), report(
			second, "tasty", "new", pluginhost.Ready, "")},
			on(first, "version 2.0.0 is quarantined since 2026-11-21T09:30:00Z: it exited (7)")},
	} {
		require.Equal(t, c.want, notReady(Desired{ID: "tasty", build: "new"}, hubsOf("tasty", c.reports)), name)
	}
}

func TestReadinessHasReasonsOfDegradedPlugins(t *testing.T) {
	hub := Hub{Hub: core.ID{1}, State: string(pluginhost.Degraded), Reason: "the cache is cold"}
	require.Equal(t, "ready in 2 running hubs\nhub "+hub.Hub.String()+": it is degraded: the cache is cold\n",
		Readiness([]Hub{hub, {State: string(pluginhost.Ready)}}))
}

func TestHubThatKeepsAnotherBuildRejectsTheInstalled(t *testing.T) {
	installed := Desired{ID: "tasty", build: "new"}
	require.False(t, installed.RejectedBy(nil))
	for hub, rejected := range map[struct {
		state pluginhost.State
		build string
	}]bool{
		{pluginhost.Ready, "new"}: false, {pluginhost.Ready, "old"}: true,
		{pluginhost.Degraded, "new"}: false, {pluginhost.Degraded, "old"}: true,
		{pluginhost.Starting, "old"}: false, {pluginhost.Backoff, ""}: true,
		{pluginhost.Quarantined, "new"}: true, {"", ""}: false,
	} {
		require.Equal(t, rejected, installed.RejectedBy([]console.PluginHub{
			{State: string(pluginhost.Starting)}, {State: string(hub.state), Build: hub.build}}), hub)
	}
}

func TestUnreadyPluginIsReportedWithItsNewFaults(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	records := calls.NewPlugins(db)
	require.NoError(t, records.Add(t.Context(), []string{"tasty"}))
	desired := Desired{ID: "tasty", Installed: "2.0.0", Enabled: true, build: "new", since: clock.Now()}
	fault := func(at time.Time, text string) aggregator.FaultCount {
		f := aggregator.FaultCount{Count: 1, First: at}
		f.Plugin, f.Group, f.Kind, f.Version, f.At, f.Text = "tasty", text, pluginhost.FaultStart, "2.0.0", at, text
		return f
	}
	hub := console.PluginHub{Plugin: "tasty", Hub: core.ID{1}, Version: "1.0.0", State: "ready", Since: clock.Now(),
		Build: "old", Calls: []console.PluginCall{}}
	require.NoError(t, records.ReportCounts(t.Context(), []console.PluginHub{hub}))
	require.NoError(t, records.RecordFaults(t.Context(), []aggregator.FaultCount{
		fault(clock.Now().Add(-time.Hour), "an earlier fault"), fault(clock.Now().Add(time.Second), "it has no disk")}))
	plugins := Dir{Path: t.TempDir(), DB: db}
	hubs, err := plugins.AwaitReady(t.Context(), desired, 0)
	require.ErrorContains(t, err, "version 2.0.0 of plugin tasty is installed, but not ready in every hub")
	require.ErrorContains(t, err, "another build is ready there\n  fault at ")
	require.ErrorContains(t, err, "it has no disk")
	require.NotContains(t, err.Error(), "an earlier fault")
	require.Equal(t, "1.0.0", hubs[0].Version)

	hub.Build = "new"
	require.NoError(t, records.ReportCounts(t.Context(), []console.PluginHub{hub}))
	hubs, err = plugins.AwaitReady(t.Context(), desired, 0)
	require.NoError(t, err)
	require.Len(t, hubs, 1)
}
