package examples

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/servery-hub/servery/plugins/plugintest" // the examples depend on it
)

// Each example is a separate module, as a partner would have it. Nothing is downloaded.
func TestExamplesPassTheirTestsInTheirModules(t *testing.T) {
	modules, err := filepath.Glob("*/go.mod")
	require.NoError(t, err)
	require.NotEmpty(t, modules)
	for _, module := range modules {
		dir := filepath.Dir(module)
		// the test result depends on each file
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		}))
		command := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "./...")
		command.Dir, command.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", dir, output)
	}
}
