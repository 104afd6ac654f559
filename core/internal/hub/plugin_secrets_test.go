package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/pluginhost"
)

func TestTestStartOfPluginSeesNoSecrets(t *testing.T) {
	data, built := t.TempDir(), t.TempDir()
	secret := filepath.Join(data, "secret.key")
	require.NoError(t, os.WriteFile(secret, []byte("the key"), 0o600))
	settings := fmt.Sprintf(`{"read":%q}`, secret)
	installtest.Plugin(t, built, "curious", "../installtest/testdata/curious")
	d := newMenuClientAt(t, newPluginAPI(t, t.TempDir(), unlimited))
	host, err := pluginhost.Open(pluginhost.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	why := host.Isolation()
	host.Close()
	if why != "" {
		t.Skipf("no namespaces here: %s", why)
	}
	d.platform("first", "curious", settings)
	plugins := plugindir.Dir{Path: t.TempDir(), DB: d.hub.db, Hidden: []string{data}}
	desired, err := plugins.Install(t.Context(), filepath.Join(built, "curious"), plugindir.InstallOptions{Force: true})
	require.NoError(t, err)
	require.Len(t, desired.Unfit, 1)
	require.Contains(t, desired.Unfit[0].String(), "no such file")
	_, err = plugins.SetPlatform(t.Context(), d.tenant.ID, "curious",
		aggregator.PlatformChange{Platform: "second", Settings: []byte(settings)}, nil)
	require.ErrorContains(t, err, "no such file")
}

func TestSecretDirsIncludeTheSocketOfTheDatabase(t *testing.T) {
	data, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for url, want := range map[string][]string{"postgres://u:p@db.example/d": {data},
		"unix://u:p@d/run/hub/.s.PGSQL.5432": {data, "/run/hub"},
		"postgres://u@/d?host=/run/pg":       {data, "/run/pg"}} {
		require.Equal(t, want, DatabaseConfig{URL: url, DataDir: data}.SecretDirs(), url)
	}
}
