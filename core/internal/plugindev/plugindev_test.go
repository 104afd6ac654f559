package plugindev

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/plugintap"
)

func TestDatabaseElsewhereIsRefused(t *testing.T) {
	for url, local := range map[string]bool{
		"": true, "postgres://u@localhost/d": true, "postgres://u@127.0.0.1:5432/d": true,
		"postgres://u@[::1]/d": true, "unix://servery:p@servery/run/socket": true,
		"postgres:///d?host=/run/postgresql": true, "postgres://u@db.example/d": false,
		"postgres://u@10.0.0.7/d": false, "postgres://u@localhost/d?host=db.example": false,
		"postgres:///d": false, "postgres://%zz": false,
	} {
		require.Equal(t, local, IsLocal(url), url)
	}
	var out bytes.Buffer
	err := Run(t.Context(), Config{Source: t.TempDir(), DatabaseURL: "postgres://u@db.example/d", Out: &out})
	require.ErrorContains(t, err, "it needs --remote-database")
}

func TestBuildEnvironmentHasNoHubSettings(t *testing.T) {
	require.Equal(t, []string{"PATH=/bin", "GOFLAGS=-trimpath"},
		buildEnvironment([]string{"PATH=/bin", "SERVERY_SECRET_KEY=x", "GOFLAGS=-trimpath", "SERVERY_DATABASE_URL=y"}))
}

func TestSourcesChangeOnceTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s := newSources(dir)
	changed := func() bool {
		t.Helper()
		is, err := s.changed()
		require.NoError(t, err)
		return is
	}
	_, err := s.changed()
	require.ErrorContains(t, err, "has no Go files")
	write("main.go", "package main")
	require.True(t, changed())
	require.False(t, changed())
	write("main.go", "package main // longer")
	require.False(t, changed(), "it may still be written")
	require.True(t, changed())
	for _, name := range []string{"main_test.go", "testdata/x.go", ".git/y.go", "notes.md"} {
		write(name, "package main")
	}
	require.False(t, changed())
	require.False(t, changed())
	write("orders/read.go", "package orders")
	require.False(t, changed())
	require.True(t, changed())
}

func TestCallsAreFormattedWithinBounds(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	require.Equal(t, "… 2 calls or log lines are missing\n09:30:00.000 log: ready\n",
		Format(plugintap.Record{At: at, Line: "ready", Lost: 2}))
	text := Format(plugintap.Record{At: at, Method: "Menu.Render", Took: 1234567, Outcome: "ok",
		Request: strings.Repeat("x\n", 70) + "x", Response: "{}"})
	require.Contains(t, text, "09:30:00.000 Menu.Render 1.23ms ok\n  > x\n")
	require.Contains(t, text, "  > … 11 more lines\n  < {}\n")
}
