// Package installtest builds the programs of this repository for tests, and installs plugins.
package installtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

// buildDir returns the directory of everything that is built for this process. Its name contains the pid, so that a
// later process can remove leftovers.
var buildDir = sync.OnceValues(func() (string, error) {
	const prefix = "servery-e2e-"
	leftovers, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range leftovers {
		pid, err := strconv.Atoi(strings.Split(strings.TrimPrefix(filepath.Base(dir), prefix), "-")[0])
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-*", prefix, os.Getpid()))
})

// Program compiles a program of this repository from its directory.
func Program(source, name string) (program string, err error) {
	dir, err := buildDir()
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, name, name)
	return program, buildtest.Program(program, source)
}

// builtPlugins caches the directories of compiled plugins with their manifests.
var builtPlugins sync.Map // func() (string, error), by id

// builtPlugin returns the directory of a compiled plugin with its manifest. Its files must not change.
func builtPlugin(t testing.TB, id, source string) string {
	t.Helper()
	build, _ := builtPlugins.LoadOrStore(id, sync.OnceValues(func() (string, error) {
		program, err := Program(source, id)
		if err != nil {
			return "", err
		}
		manifest, err := plugintest.ManifestOf(context.Background(), program, "")
		if err != nil {
			return "", err
		}
		dir := filepath.Dir(program)
		return dir, os.WriteFile(filepath.Join(dir, sdk.ManifestName), manifest, 0o600)
	}))
	dir, err := build.(func() (string, error))()
	require.NoError(t, err)
	return dir
}

// Plugin installs a plugin of this repository in a directory of plugins. All tests share the program file, which only
// Corrupt may change.
func Plugin(t testing.TB, dir, id, source string) {
	t.Helper()
	built, installed := builtPlugin(t, id, source), filepath.Join(dir, id)
	require.NoError(t, os.MkdirAll(installed, 0o755))
	require.NoError(t, os.Link(filepath.Join(built, id), filepath.Join(installed, id)))
	manifest, err := os.ReadFile(filepath.Join(built, sdk.ManifestName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(installed, sdk.ManifestName), manifest, 0o600))
}

// Corrupt changes the installed program of Plugin, for this test alone.
func Corrupt(t *testing.T, program string) {
	t.Helper()
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.Remove(program))
	require.NoError(t, os.WriteFile(program, append(text, "changed"...), 0o755))
}

// RemoveAll removes everything that was built.
func RemoveAll() {
	if dir, err := buildDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
}
