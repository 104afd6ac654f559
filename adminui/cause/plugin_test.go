package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

func pluginIn(state string, enabled bool, faults ...string) console.Plugin {
	p := console.Plugin{ID: "aggregator-a", Enabled: enabled, State: state, Since: since,
		Hubs: []console.PluginHub{{State: state}}}
	for _, text := range faults {
		p.Faults = append(p.Faults, console.PluginFault{At: since, Text: text, Ended: true})
	}
	return p
}

func TestPluginStateIsExplained(t *testing.T) {
	missing := pluginIn("ready", true)
	missing.Hubs = nil
	degraded := pluginIn("degraded", true, "no memory")
	degraded.Health = "it says that it is degraded: the cache is cold"
	partly := pluginIn("ready", true)
	partly.Hubs = append(partly.Hubs, console.PluginHub{State: "quarantined"})
	aside := pluginIn("ready", true)
	aside.SetAside = 2
	require.True(t, PluginWorks(aside, time.UTC), "all other requests continue")
	for name, row := range map[string]struct {
		plugin console.Plugin
		state  ui.State
		says   string
	}{
		"disabled": {pluginIn("stopped", false), ui.Held, "An operator of the hub has disabled " +
			"plugin aggregator-a"},
		"never started":     {console.Plugin{ID: "x", Enabled: true}, ui.Warn, "No hub has run plugin x yet"},
		"in no running hub": {missing, ui.Err, "No running hub has plugin aggregator-a"},
		"quarantined": {pluginIn("quarantined", true, "its process ended"), ui.Err,
			"is stopped since 21 Nov 09:30 UTC, because it failed too often.\nLast fault: its process ended."},
		"quarantined in one of two": {partly, ui.Err, "failed too often"},
		"quarantined without a reason": {pluginIn("quarantined", true), ui.Err,
			"is stopped since 21 Nov 09:30 UTC, because it failed too often."},
		"restarting": {pluginIn("backoff", true, "no memory"), ui.Err,
			"restarts in a moment.\nLast fault: no memory."},
		"degraded": {pluginIn("degraded", true), ui.Warn, "has reported a problem since 21 Nov 09:30 UTC."},
		"degraded with a reason": {degraded, ui.Warn,
			"has reported a problem since 21 Nov 09:30 UTC.\n" +
				"Problem: it says that it is degraded: the cache is cold. The last fault was on 21 Nov at 09:30 " +
				"UTC: no memory."},
		"degraded by its last fault": {pluginIn("degraded", true, "no memory."), ui.Warn,
			"UTC.\nThe last fault was on 21 Nov at 09:30 UTC: no memory."},
		"starting": {pluginIn("starting", true), ui.Run, "is starting"},
		"ready":    {pluginIn("ready", true), ui.OK, "has worked since 21 Nov 09:30 UTC"},
		"ready with requests set aside": {aside, ui.Warn,
			"Plugin aggregator-a is not called with 2 requests, which crashed it.\nThey are listed with the plugin."},
		"ready after a fault": {pluginIn("ready", true, "once"), ui.OK, "has worked since"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Plugin(row.plugin, time.UTC)
			require.Equal(t, row.state, c.State)
			require.Contains(t, c.Text+"\n"+c.Detail, row.says)
		})
	}
}

func TestDegradedPluginNamesTheSameProblemOnce(t *testing.T) {
	degraded := pluginIn("degraded", true, "the cache is cold")
	degraded.Reason = "the cache is cold"
	require.Equal(t, "Problem: the cache is cold.", Plugin(degraded, time.UTC).Detail)
}

func TestPlatformNamesWhatServesIt(t *testing.T) {
	require.Equal(t, "merchant's website or app",
		ServedBy(core.Platform{ServedBy: core.ServedByMerchant}))
	require.Equal(t, "plugin aggregator-a", ServedBy(core.Platform{ServedBy: "aggregator-a"}))
}

func TestFailedPluginNamesItsPlatforms(t *testing.T) {
	down := pluginIn("quarantined", true, "no memory")
	require.NotContains(t, Plugin(down, time.UTC).Detail, "connects")
	for _, platform := range []string{"a", "b", "a", "c", "d"} {
		down.Serves = append(down.Serves, console.Served{Platform: platform})
	}
	require.Contains(t, Plugin(down, time.UTC).Detail, "The plugin connects the hub to a, b, c, ….")
}
