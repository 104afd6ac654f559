package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestAHubWaitsOnlyForPluginsThatNoHubKnows(t *testing.T) {
	dir := t.TempDir()
	installPlugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	first := newPluginAPI(t, dir, unlimited).hub
	require.NoError(t, first.config.host.tell(t.Context()))
	next := func() *pluginHost {
		t.Helper()
		host, err := openPlugins(t.Context(), dir, first.db, nil, hubtest.Logger())
		require.NoError(t, err)
		t.Cleanup(host.Close)
		require.Equal(t, "aggregator-b", host.about("aggregator-b").GetId(), "the hub knows what the plugin says of itself")
		return host
	}
	host := next()
	require.False(t, host.isNew(host.Status()[0]), "the program is the same")
	manifest := filepath.Join(dir, "aggregator-b", sdk.ManifestName)
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	other := bytes.ReplaceAll(text, []byte(pluginhost.Digest(dir, "aggregator-b")), bytes.Repeat([]byte("0"), 64))
	require.NoError(t, os.WriteFile(manifest, other, 0o600))
	host = next()
	require.True(t, host.isNew(host.Status()[0]), "the program is another")
	require.NotEmpty(t, host.Status()[0].Faults, "it was waited for")
}
