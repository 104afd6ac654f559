package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewPluginInsideTheRepositoryIsBuilt(t *testing.T) {
	t.Parallel()
	checkout := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(checkout, "plugins"), os.DirFS(filepath.Join(root, "plugins"))))
	for _, file := range []string{"go.mod", "go.sum", "Makefile"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(checkout, file), text, 0o600))
	}
	dir := filepath.Join(checkout, "plugins", "tasty-eats")
	stdout, stderr, status := pluginKit(t, "new", "tasty-eats", "--dir", dir)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "make -C "+checkout+" build")
	require.NoFileExists(t, filepath.Join(dir, "go.mod"))

	in := func(name string, args ...string) string {
		command := exec.Command(name, args...)
		command.Dir, command.Env = checkout, append(os.Environ(), "GOPROXY=off", "GOWORK=off", "MAKEFLAGS=")
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", name, args, output)
		return string(output)
	}
	in("go", "test", "-vet=off", "./plugins/tasty-eats")
	in("gofmt", "-l", "plugins/tasty-eats")
	plan := in("make", "-n", "build")
	for _, folder := range []string{"aggregatora", "aggregatorb", "aggregatorc", "tasty-eats"} {
		require.Contains(t, plan, " ./plugins/"+folder+"\n")
	}
	require.Contains(t, plan, "-o bin/plugins/aggregator-a/aggregator-a ")
	require.Contains(t, plan, "-o bin/plugins/tasty-eats/tasty-eats ")
}

func TestNewPluginInAModuleOfItsOwn(t *testing.T) {
	checkout := t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(checkout, "go.mod"), text, 0o600))
	other := filepath.Join(checkout, "other")
	require.NoError(t, os.Mkdir(other, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.org/other\n"), 0o600))
	for dir, own := range map[string]bool{
		filepath.Join(checkout, "plugins", "a"): false, filepath.Join(other, "b"): true,
	} {
		_, stderr, status := pluginKit(t, "new", "tasty", "--dir", dir)
		require.Zero(t, status, stderr)
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		require.Equal(t, own, err == nil, dir)
	}
	t.Chdir(checkout)
	stdout, stderr, status := pluginKit(t, "new", "brisk")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, filepath.Join("plugins", "brisk"))
}
