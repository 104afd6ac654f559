package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/deploy/check/buildtest"
)

// waitTimeout bounds all waits, with a margin for a busy machine.
const waitTimeout = 90 * time.Second

// queryContext bounds queries and calls of the test itself.
func queryContext() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// eventually waits until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	require.NoError(t, hubtest.Await(within, check), "what was waited for did not happen within %v", within)
}

// build compiles the program and its plugins. With skewed, the program's clock is wrong by SERVERY_CHAOS_SKEW.
func build(t *testing.T, dir string, skewed bool) (program, plugins string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	program, plugins = filepath.Join(dir, "servery"), filepath.Join(dir, "plugins")
	var flags []string
	if skewed {
		flags = append(flags, "-overlay", clockOverlay(t, root, dir))
	}
	require.NoError(t, buildtest.Program(program, filepath.Join(root, "core/cmd/servery"), flags...))
	for _, id := range []string{"aggregator-a", "aggregator-b", "aggregator-c"} {
		file := filepath.Join(plugins, id, id)
		require.NoError(t, buildtest.Program(file, filepath.Join(root, "plugins", strings.ReplaceAll(id, "-", ""))))
		manifest, err := exec.CommandContext(t.Context(), program, "plugin", "describe", file, "--manifest").Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(plugins, id, "plugin.yaml"), manifest, 0o644))
	}
	return program, plugins
}

// clockOverlay returns a build overlay in which the Go runtime's clock is wrong. The clock of a static program cannot
// be changed from outside.
func clockOverlay(t *testing.T, root, dir string) string {
	t.Helper()
	file := filepath.Join(root, "core", "clock.go")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	const right = "return &SystemClock{base: time.Now(), offset: offset}"
	require.Contains(t, string(source), right)
	wrong := strings.Replace(string(source), right, `skew, _ := time.ParseDuration(os.Getenv("SERVERY_CHAOS_SKEW"))
	return &SystemClock{base: time.Now(), offset: func() time.Duration { return offset() + skew }}`, 1)
	wrong = strings.Replace(wrong, "package core\n", "package core\n\nimport \"os\"\n", 1)
	replaced, overlay := filepath.Join(dir, "clock.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(replaced, []byte(wrong), 0o644))
	content, err := json.Marshal(map[string]map[string]string{"Replace": {file: replaced}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, content, 0o644))
	return overlay
}

// sockets counts the open sockets of a process.
func sockets(pid int) (n int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if at, _ := os.Readlink(file); strings.HasPrefix(at, "socket:") {
			n++
		}
	}
	return n
}
