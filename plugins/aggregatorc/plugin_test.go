package main

import (
	"flag"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestConformance(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "plugin")
	output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	options := plugintest.Options{Golden: "testdata", Update: *update}
	for _, driver := range []plugintest.Driver{
		plugintest.InProcess(plugin{}), plugintest.Reattach(plugin{}), plugintest.Subprocess(binary, sdk.TransportMTLS),
	} {
		plugintest.Run(t, driver, options)
	}
}
