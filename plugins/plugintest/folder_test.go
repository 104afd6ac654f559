package plugintest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryAggregatorFolderIsComplete(t *testing.T) {
	folders, err := filepath.Glob("../aggregator*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, folder := range folders {
		id := "aggregator-" + strings.TrimPrefix(filepath.Base(folder), "aggregator")
		for file, part := range map[string]string{"README.md": id, "main.go": `"` + id + `"`,
			"plugin_test.go": "plugintest.Run("} {
			text, err := os.ReadFile(filepath.Join(folder, file))
			require.NoError(t, err)
			require.Contains(t, string(text), part, "%s of %s", file, folder)
		}
		cases, err := Cases(filepath.Join(folder, "testdata"))
		require.NoError(t, err)
		require.NotEmpty(t, cases, folder)
	}
}
