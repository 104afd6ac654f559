package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/relay"
)

func TestInvalidPluginSettingsMakeCallbacksUnavailable(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	host := d.hub.config.Host
	d.platform("tasty", "aggregator-a", `{"brand":"harbour"}`)
	read := func(kind string) core.Code {
		_, err := host.Read(t.Context(),
			relay.InboundRequest{Caller: relay.Caller{Business: d.tenant.ID, Platform: "tasty"}, Kind: kind,
				Body: []byte("{")})
		return core.CodeOf(err)
	}
	require.NoError(t, host.Refresh(t.Context(), false))
	for kind, want := range map[string]string{"order": "A-7", "orders": "A-7", "action": "", "customer-data": ""} {
		id, ok := host.HasOrder(relay.InboundRequest{Caller: relay.Caller{Plugin: "aggregator-a"}, Kind: kind,
			Body: []byte(`{"event":"order.created","order":{"id":"A-7"}}`)})
		require.Equal(t, []any{want, want != ""}, []any{id, ok}, kind)
	}
	require.Empty(t, host.Status()[0].Faults)
	require.Equal(t, core.Invalid, read("order"))

	d.platform("tasty", "aggregator-a", `{"brand":7}`)
	require.Equal(t, core.Unavailable, read("order"), "it is sent again")
	require.Equal(t, core.Unavailable, read("action"))
	require.NoError(t, host.Refresh(t.Context(), false))
	require.Empty(t, host.Status()[0].Faults, "the version is looked at once")
	next, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, d.hub.db)
	require.NoError(t, err)
	defer next.Close()
	hubtest.WaitUntil(t, "the plugin is ready", func() bool { return next.Plugin("aggregator-a").Serves() })
	require.NoError(t, next.Refresh(t.Context(), false))
	host = next
	require.Contains(t, fmt.Sprint(host.Status()[0].Faults),
		fmt.Sprintf(`rejects the settings of 1 platforms: platform "tasty" of business %d: settings.brand`,
			d.tenant.ID))
}
