package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

func TestSettingsThatAVersionDoesNotTakeAreToldAndNoFaultOfTheAggregator(t *testing.T) {
	dir := t.TempDir()
	installPlugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newDinerAt(t, newPluginAPI(t, dir, unlimited))
	host := d.hub.config.host
	d.platform("tasty", "aggregator-a", `{"brand":"harbour"}`)
	read := func(kind string) core.Code {
		_, err := host.Read(t.Context(), relay.Inbound{Caller: relay.Caller{Business: d.tenant.ID, Platform: "tasty"}, Kind: kind, Body: []byte("{")})
		return core.CodeOf(err)
	}
	require.NoError(t, host.suit(t.Context()))
	require.Empty(t, host.Status()[0].Faults)
	require.Equal(t, core.Invalid, read("order"))

	d.platform("tasty", "aggregator-a", `{"brand":7}`)
	require.Equal(t, core.Unavailable, read("order"), "it is sent again")
	require.Equal(t, core.Unavailable, read("action"))
	require.NoError(t, host.suit(t.Context()))
	require.Empty(t, host.Status()[0].Faults, "the version is looked at once")
	clear(host.suited)
	require.NoError(t, host.suit(t.Context()))
	require.Contains(t, fmt.Sprint(host.Status()[0].Faults), fmt.Sprintf(`does not take the settings of 1 platform(s): platform "tasty" of business %d: settings.brand`, d.tenant.ID))

	found := &doctor{}
	found.settings(t.Context(), d.hub.db, host.Plugin("aggregator-a"))
	require.Len(t, found.found, 1)
	require.Contains(t, found.found[0].Found, `it does not take the settings of platform "tasty"`)
}
