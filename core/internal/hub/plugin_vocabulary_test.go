package hub

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

// secondReplica returns a hub on the same database, with the plugins of a directory.
func secondReplica(t *testing.T, a *api, dir string) *api {
	t.Helper()
	config := a.hub.config
	host, metrics, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, a.hub.db)
	require.NoError(t, err)
	t.Cleanup(host.Close)
	config.Host, config.Plugins, config.PluginMetrics, config.IngestPolicy.Vocabulary = host, host, metrics, host
	return &api{New(config, a.hub.db, hubtest.Logger()), a.clock}
}

// runPlugins runs the plugins of a replica, and receives the notifications of others, until the test ends.
func (a *api) runPlugins(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { a.hub.config.Host.Run(ctx, true) })
	parts.Go(func() { a.hub.listenNotifications(ctx) })
	t.Cleanup(func() { cancel(); parts.Wait() })
}

func TestNewPluginVocabularyCountsOnEveryReplica(t *testing.T) {
	dir := t.TempDir()
	first := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	second := secondReplica(t, first.api, t.TempDir()) // has no plugin itself
	first.runPlugins(t)
	second.runPlugins(t)
	const menu = `{"items":[{"ref_id":"soup","title":"Soup","price":5,"key_value_groups":[{"group":"NutritionalInfo",` +
		`"key_value_data":[{"key":"fat_mg","value":"900"}]}]}]}`
	send := func(a *api) apiResponse {
		return a.do(t, request{method: "POST", path: menuRoute + "s1/", authorization: first.tenant.Authorization,
			body: menu})
	}
	for _, a := range []*api{first.api, second} {
		requireEnvelope(t, send(a), 400, "group must be one of")
	}
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	first.hub.config.Host.Wake() // instead of the next look at the directory
	for _, a := range []*api{first.api, second} {
		hubtest.WaitUntil(t, "the group to count", func() bool { return send(a).status == 200 })
	}
	require.Zero(t, hubtest.Lookup(first.awaitCallback(2), "stats.items.errors"))

	_, err := second.hub.config.Host.Actions(t.Context(), "aggregator-a")
	require.NoError(t, err, "its actions are known, too")
}
