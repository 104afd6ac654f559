package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost"
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
	_, stderr = o.run("platform", "set", business, "curious", fmt.Sprintf(`--settings={"read":%q}`, secret))
	require.Contains(t, stderr, "no such file")
	require.NotContains(t, stderr, "the key")
}
