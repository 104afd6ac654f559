package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPluginRunShowsTheLogApart(t *testing.T) {
	t.Parallel()
	dir := buildPlugin(t, "core/pluginhost/testdata/hostile", "hostile")
	for item, want := range map[string]struct{ stdout, log string }{
		"panic":         {`"code": "Internal"`, "log: {"},
		"panic-outside": {`"code": "Unavailable"`, "log: panic: "},
		"version":       {`"message": "1.0.0"`, ""},
	} {
		file := filepath.Join(t.TempDir(), "request.json")
		request := `{"method":"Menu.CheckItems","request":{"items":[{"ref_id":"` + item + `"}]}}`
		require.NoError(t, os.WriteFile(file, []byte(request), 0o600))
		stdout, stderr, status := pluginKit(t, "run", dir, file)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, want.stdout, item)
		require.NotContains(t, stdout, "log: ", item)
		require.Contains(t, stderr, want.log, item)
		for line := range strings.Lines(stderr) {
			require.True(t, strings.HasPrefix(line, "log: "), line)
		}
	}
}
