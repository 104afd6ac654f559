package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestCheckedSettingsRevealNoSecrets(t *testing.T) {
	o := newOperator(t)
	host, err := pluginhost.Open(pluginhost.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	why := host.Isolation()
	host.Close()
	if why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	data := t.TempDir()
	secret := filepath.Join(data, "secret.key")
	require.NoError(t, os.WriteFile(secret, []byte("the key"), 0o600))
	t.Setenv("SERVERY_DATA_DIR", data)
	source := buildPlugin(t, "core/internal/installtest/testdata/curious", "curious")
	stdout, stderr := o.run("plugin", "install", source)
	require.Equal(t, "plugin curious 1.0.0 is installed\n", stdout, stderr)
	business := fmt.Sprintf("--business=%d", o.createBusiness())
	address, err := url.Parse(os.Getenv("SERVERY_DATABASE_URL"))
	require.NoError(t, err)
	require.Equal(t, "unix", address.Scheme)
	require.FileExists(t, address.Path)
	for _, file := range []string{secret, address.Path,
		filepath.Join(os.Getenv("SERVERY_PLUGIN_DIR"), "curious", sdk.ManifestName)} {
		_, stderr = o.run("platform", "set", business, "curious", fmt.Sprintf(`--settings={"read":%q}`, file))
		require.Contains(t, stderr, "no such file")
		require.NotContains(t, stderr, "the key")
	}
}
