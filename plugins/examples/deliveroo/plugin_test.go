package main

import (
	"flag"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestConformance runs the suite in process, by reattach and as a program. It sends each testdata/NAME.input.json and
// expects NAME.golden.json.
func TestConformance(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "plugin")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	options := plugintest.Options{Golden: "testdata", Update: *update}
	plugintest.Run(t, plugintest.InProcess(plugin{}), options)
	plugintest.Run(t, plugintest.Reattach(plugin{}), options)
	plugintest.Run(t, plugintest.Subprocess(binary, sdk.TransportMTLS), options)
}
