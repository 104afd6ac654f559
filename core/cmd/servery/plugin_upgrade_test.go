package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// nextBuild changes the manifest of the plugin in a directory, which is then another build of the same version.
func nextBuild(t *testing.T, dir string) {
	t.Helper()
	editManifest(t, dir, func(text []byte) []byte { return append(text, "# next\n"...) })
}

func editManifest(t *testing.T, dir string, edit func([]byte) []byte) {
	t.Helper()
	file := filepath.Join(dir, sdk.ManifestName)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, edit(text), 0o600))
}

func TestPluginUpgradeWaitsForEveryRunningHub(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		installtest.Plugin(t, dir, "aggregator-b", filepath.Join(root, "plugins/aggregatorb"))
	}
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", first)
	elsewhere := env.With("SERVERY_PLUGIN_DIR", second)
	startHub(t, env)
	other := startHub(t, elsewhere)
	follower := hubtest.NewProcess(builtBinary(t), env, "plugin", "logs", "aggregator-b", "--follow")
	follower.Start(t)
	eventually(t, waitTimeout, func() error {
		if list := servery(t, env, "plugin", "list"); !strings.Contains(list.stdout, "1.0.0      ready\n") {
			return fmt.Errorf("%s", list.stdout)
		}
		return nil
	})

	source := buildPlugin(t, "plugins/aggregatorb", "aggregator-b")
	nextBuild(t, source)
	partly := servery(t, env, "plugin", "upgrade", source, "--wait", "--timeout", "8s")
	require.Equal(t, 1, partly.status, partly.stdout)
	require.Contains(t, partly.stdout, "plugin aggregator-b 1.0.0 is upgraded")
	require.Contains(t, partly.stderr, "not ready in every hub after 8s")
	require.Equal(t, 1, strings.Count(partly.stderr, "  hub "), partly.stderr)
	require.Contains(t, partly.stderr, ": another build is ready there\n")
	require.Contains(t, partly.stderr, "servery plugin faults aggregator-b")
	all := servery(t, elsewhere, "plugin", "upgrade", source, "--wait")
	require.Zero(t, all.status, all.stderr)
	require.Contains(t, all.stdout, "it is ready in 2 running hubs\n")
	require.Zero(t, other.Terminate(t))
	var desired struct {
		Hubs []struct{ Version, State string }
	}
	serveryJSON(t, env, &desired, "plugin", "install", source, "--wait")
	require.Equal(t, []struct{ Version, State string }{{"1.0.0", "ready"}}, desired.Hubs)

	editManifest(t, source, func(text []byte) []byte {
		return bytes.Replace(text, []byte("version: 1.0.0"), []byte("version: 3.0.0"), 1)
	})
	broken := servery(t, env, "plugin", "upgrade", source, "--unchecked", "--wait", "--timeout", "0s")
	require.Equal(t, 1, broken.status)
	require.Contains(t, broken.stderr, "version 3.0.0 of plugin aggregator-b is installed, but not ready")
	follower.AwaitOutput(t, regexp.MustCompile(`(?m)^\S+ fault: (the upgrade was rejected.*)$`))
	require.Zero(t, follower.Stop(t, syscall.SIGINT), follower.Err)
	require.Empty(t, follower.Err.String())
	require.Equal(t, 1, strings.Count(follower.Out.String(), "3.0.0"), "each fault is printed once")
}

func TestPluginUpgradeDoesNotAwaitDisabledPlugins(t *testing.T) {
	o := newPluginOperator(t)
	_, stderr := o.run("plugin", "disable", "aggregator-b")
	require.Empty(t, stderr)
	stdout, stderr := o.run("plugin", "upgrade", o.source, "--wait")
	require.Contains(t, stdout, "but it stays disabled")
	require.Contains(t, stderr, "run `servery plugin enable aggregator-b`")
	stdout, stderr = o.run("plugin", "install", o.source, "--wait", "--timeout=0s")
	require.Contains(t, stdout, "is installed")
	require.Contains(t, stderr, "no running hub reports it")
}
