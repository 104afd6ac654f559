package python_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// TestConformance runs the suite on a plugin in another language.
func TestConformance(t *testing.T) {
	require.NoError(t, buildtest.DependOn("."))
	describe := exec.Command("./plugin.py", "describe")
	describe.Env = []string{} // as the hub starts it: the system's Python
	if output, err := describe.CombinedOutput(); err != nil {
		const missing = "the Python plugin cannot be run on this machine; it needs python3 and grpcio (apt-get " +
			"install python3-grpcio)"
		if os.Getenv("CI") != "" {
			t.Fatal(missing, string(output))
		}
		t.Skip(missing, string(output))
	}
	manifest, err := sdk.ReadManifest(sdk.ManifestName)
	require.NoError(t, err)
	file, err := os.Open("plugin.py")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.NoError(t, manifest.Binaries[0].Verify(file),
		"run: servery plugin describe plugin.py --manifest --transport socket > plugin.yaml")
	plugintest.Run(t, plugintest.Subprocess("plugin.py", manifest.Transport),
		plugintest.Options{Golden: "testdata", Manifest: manifest})
}
