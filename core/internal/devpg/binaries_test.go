package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeBinaries creates programs that only print their version.
func fakeBinaries(t *testing.T, dir string, major int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.4 (Debian %d.4-1)'\n", major, major)
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
}

func TestMissingBinariesAreExplained(t *testing.T) {
	t.Parallel()
	cfg := fastConfig(dataDir(t))
	cfg.machine = &machine{fallbackRoot: "/var/lib"}
	_, err := Start(t.Context(), cfg)
	require.ErrorContains(t, err, "PostgreSQL 14 or newer (postgres and initdb) is missing, none found")
	assert.ErrorContains(t, err, "install PostgreSQL 14+")
	assert.ErrorContains(t, err, "SERVERY_DATABASE_URL")
	assert.ErrorContains(t, err, "allow network access")
}

func TestBinarySearchOrderAndSymlinks(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for _, major := range []int{9, 14, 16} {
		fakeBinaries(t, filepath.Join(dir, "lib", fmt.Sprint(major), "bin"), major)
	}
	links := filepath.Join(dir, "links")
	require.NoError(t, os.Mkdir(links, 0o755))
	require.NoError(t, os.Symlink(filepath.Join(dir, "lib", "14", "bin", "postgres"), filepath.Join(links, "postgres")))

	s := search{path: filepath.Join(dir, "none") + ":" + links, globs: []string{filepath.Join(dir, "lib", "*", "bin")}}
	found := s.find(t.Context(), ownAccount())
	require.Len(t, found, 3)
	assert.Equal(t, filepath.Join(dir, "lib", "14", "bin", "initdb"), found[0].initdb(), "the PATH goes first")
	assert.Equal(t, 16, found[1].major)

	for want, major := range map[int]int{0: 14, 16: 16, 9: 9} {
		b, ok := selectBinaries(found, want)
		require.True(t, ok)
		assert.Equal(t, major, b.major)
	}
	_, ok := selectBinaries(found, 15)
	assert.False(t, ok)
	_, ok = selectBinaries(found[2:], 0)
	assert.False(t, ok, "too old for a new cluster")
}

func TestClusterOfAnotherVersionIsExplained(t *testing.T) {
	t.Parallel()
	s := start(t, fastConfig(preparedDir(t)))
	require.NoError(t, s.Close(t.Context()))
	version := filepath.Join(s.layout.cluster(), "PG_VERSION")
	require.NoError(t, os.WriteFile(version, []byte("13\n"), 0o600))
	_, err := Start(t.Context(), fastConfig(s.layout.data))
	require.ErrorContains(t, err, "was made by PostgreSQL 13, which is missing (found ")
	assert.ErrorContains(t, err, "install PostgreSQL 13")
}

func TestInstallersAreTriedInTurn(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	files := layout{data: dir, base: dir, owner: ownAccount()}
	cfg := fastConfig(dir)
	cfg.Install = true
	broken := installer{name: "broken", install: func(context.Context, *slog.Logger, layout, int) error {
		return errors.New("no network")
	}}
	cfg.machine = &machine{installers: []installer{broken}}
	_, err := ensureBinaries(t.Context(), cfg, files)
	require.ErrorContains(t, err, "broken: no network")
	assert.ErrorContains(t, err, "SERVERY_DATABASE_URL")

	cfg.machine.installers = append(cfg.machine.installers,
		installer{name: "works", install: func(_ context.Context, _ *slog.Logger, files layout, _ int) error {
			fakeBinaries(t, filepath.Join(files.binaries(), "17", "bin"), 17)
			return nil
		}})
	b, err := ensureBinaries(t.Context(), cfg, files)
	require.NoError(t, err)
	assert.Equal(t, 17, b.major)
}

func TestSettingsAreQuotedAndChecked(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	require.NoError(t, writeSettings(dir, ownAccount(), map[string]string{"search_path": `it's`}))
	text, err := os.ReadFile(filepath.Join(dir, settingsFile))
	require.NoError(t, err)
	assert.Contains(t, string(text), "search_path = 'it''s'\n")
	assert.Contains(t, string(text), "fsync = 'on'\n")
	assert.Error(t, writeSettings(dir, ownAccount(), map[string]string{"a\nb": "x"}))
	assert.Error(t, writeSettings(dir, ownAccount(), map[string]string{"a": "x\ny"}))
}
