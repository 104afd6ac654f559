package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/relay"
)

func TestAReplicaWithoutAPluginLeavesItsWorkToOneThatHasIt(t *testing.T) {
	dir := t.TempDir()
	installPlugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newDinerAt(t, newPluginAPI(t, dir))
	d.platform("tasty", "aggregator-a", "")
	with := d.hub.config.host
	without, err := openPlugins(t.Context(), t.TempDir(), d.hub.db, nil, hubtest.Logger())
	require.NoError(t, err)
	defer without.Close()
	call := relay.Call{Business: d.tenant.ID, Platform: "tasty", Plugin: "aggregator-a", Kind: relay.Action, Payload: []byte(`{"action":"rider_with_mask"}`)}
	ask := func(h *pluginHost) (plan, inspect error) {
		_, plan = h.Plan(t.Context(), call, nil)
		_, inspect = inspector{h}.Inspect(t.Context(), d.tenant.ID, "tasty", nil)
		return plan, inspect
	}

	plan, inspect := ask(without)
	for _, err := range []error{plan, inspect} {
		require.Equal(t, core.Unavailable, core.CodeOf(err))
		require.ErrorContains(t, err, "plugin aggregator-a is not installed at this replica", "no worker is known to have it: that is told")
	}

	require.NoError(t, with.serve(t.Context()))
	require.NoError(t, without.follow(t.Context()))
	require.NoError(t, with.follow(t.Context()))
	plan, inspect = ask(without)
	for _, err := range []error{plan, inspect} {
		require.Equal(t, core.Postponed{Until: d.clock.Now().Add(elsewhereFor)}, err, "the worker that has it does the work")
	}
	_, inspect = ask(with)
	require.NoError(t, inspect)

	with.Stop("aggregator-a")
	waitUntil(t, "the plugin to end", func() bool { return !with.Plugin("aggregator-a").Serves() })
	require.NoError(t, with.elsewhere("aggregator-a"), "its own word does not send work elsewhere")

	d.clock.Advance(servesFor)
	plan, _ = ask(without)
	require.Equal(t, core.Unavailable, core.CodeOf(plan), "what was said long ago does not count")
}
