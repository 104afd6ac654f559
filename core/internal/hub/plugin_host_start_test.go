package hub

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestHubStartWaitsOnlyForUnknownPlugins(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-b", "../../../plugins/aggregatorb")
	first := newPluginAPI(t, dir, unlimited).hub
	require.NoError(t, first.config.Host.Refresh(t.Context(), false))
	next := func() *aggregator.Host {
		t.Helper()
		host, _, err := OpenPlugins(t.Context(), PluginsConfig{Dir: dir, Log: hubtest.Logger()}, first.db)
		require.NoError(t, err)
		t.Cleanup(host.Close)
		_, err = host.Actions(t.Context(), "aggregator-b")
		require.NoError(t, err, "the hub knows the plugin's description")
		return host
	}
	require.Nil(t, next().Status()[0].Description, "the program is the same: nothing waits for it")
	manifest := filepath.Join(dir, "aggregator-b", sdk.ManifestName)
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	other := bytes.ReplaceAll(text, []byte(pluginhost.Digest(dir, "aggregator-b")), bytes.Repeat([]byte("0"), 64))
	require.NoError(t, os.WriteFile(manifest, other, 0o600))
	require.NotEmpty(t, next().Status()[0].Faults, "the program is another: the start waits for it")
}
