package plugindev

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/plugintap"
	"github.com/servery-hub/servery/core/pluginhost"
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
	_, err := newSources(filepath.Join(dir, "none")).changed()
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = s.changed()
	require.ErrorContains(t, err, "has no Go files")
	write("main.go", "package main")
	require.True(t, changed())
	require.False(t, changed())
	write("main.go", "package main // longer")
	require.False(t, changed(), "it may still be written")
	require.True(t, changed())
	for _, name := range []string{"main_test.go", "testdata/x.go", ".git/y.go", "main.go~", "hub.log"} {
		write(name, "package main")
	}
	require.False(t, changed())
	require.False(t, changed())
	write("orders/read.go", "package orders")
	require.False(t, changed())
	require.True(t, changed())
}

func TestEmbeddedFilesAreSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700)) // a directory of another system may have that mode
	}
	s := newSources(dir)
	write("main.go", `package main

import "embed"

//go:embed schema.json all:pages/*.html parts
var files embed.FS
`)
	is, err := s.changed()
	require.NoError(t, err)
	require.True(t, is)
	for name, want := range map[string]bool{"schema.json": true, "pages/a.html": true, "parts/a/b.txt": true,
		"hub.log": false, "pages/a.txt": false, "node_modules/a/b.js": false} {
		write(name, "{}")
		_, err := s.changed()
		require.NoError(t, err)
		is, err := s.changed()
		require.NoError(t, err)
		require.Equal(t, want, is, name)
	}
}

func TestSourcesCanBeAbsentForAMoment(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	broken := func() { require.NoError(t, os.WriteFile(source, []byte("package"), 0o600)) }
	broken()
	ctx, cancel := context.WithCancel(t.Context())
	text, out := io.Pipe()
	said := bufio.NewScanner(text)
	next := func(what string) {
		for said.Scan() {
			if strings.Contains(said.Text(), what) {
				return
			}
		}
		t.Error("the command ended before it said " + what)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Source: dir, Out: out})
		_ = out.Close()
	}()
	next("building " + dir)
	require.NoError(t, os.Remove(source))
	next("has no Go files")
	broken()
	next("building " + dir)
	cancel()
	_, _ = io.Copy(io.Discard, text)
	require.NoError(t, <-ended)
}

func TestCallsAreFormattedWithinBounds(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	require.Equal(t, "… 2 calls or log lines are missing\n09:30:00.000 log: ready\n",
		Format(plugintap.Record{At: at, Line: "ready", Lost: 2}))
	require.Equal(t, "09:30:00.000 fault: Orders.Translate: invalid response\n",
		Format(plugintap.Record{At: at, Fault: "Orders.Translate: invalid response"}))
	text := Format(plugintap.Record{At: at, Method: "Menu.Render", Took: 1234567, Outcome: "ok",
		Request: strings.Repeat("x\n", 70) + "x", Response: "{}"})
	require.Contains(t, text, "09:30:00.000 Menu.Render 1.23ms ok\n  > x\n")
	require.Contains(t, text, "  > … 11 more lines\n  < {}\n")
}

func TestVersionOfABuildReplacesOtherMetadata(t *testing.T) {
	require.Equal(t, "1.0.0+dev.1", devVersion("1.0.0", 1))
	require.Equal(t, "1.0.0-rc.1+dev.7", devVersion("1.0.0-rc.1+abc", 7))
}

// fakeHubs are hubs that report what a test says.
type fakeHubs struct {
	reports   []plugindir.Hub
	err       error
	installed []string // directories
}

// Install records an installation (installer).
func (f *fakeHubs) Install(_ context.Context, from string, _ plugindir.InstallOptions) (plugindir.Desired, error) {
	f.installed = append(f.installed, from)
	return plugindir.Desired{}, nil
}

// AwaitReady returns the reports (installer).
func (f *fakeHubs) AwaitReady(context.Context, plugindir.Desired, time.Duration) ([]plugindir.Hub, error) {
	return f.reports, f.err
}

func TestRejectedBuildIsReplacedByTheGoodOne(t *testing.T) {
	temp, hubs := t.TempDir(), &fakeHubs{}
	s := &session{Config: Config{Out: io.Discard}, hubs: hubs}
	install := func(name string) (dir string, err error) {
		dir = filepath.Join(temp, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		return dir, s.install(t.Context(), dir)
	}
	good, err := install("good")
	require.NoError(t, err)
	late := errors.New("not ready in every hub")
	hubs.err = late
	_, err = install("untried")
	require.ErrorIs(t, err, late)
	require.Len(t, hubs.installed, 2)
	hubs.reports = []plugindir.Hub{{State: string(pluginhost.Ready), Build: "old"}}
	rejected, err := install("rejected")
	require.ErrorIs(t, err, late)
	require.Equal(t, []string{rejected, good}, hubs.installed[2:])
	require.Equal(t, good, s.good)
	require.DirExists(t, good)
	require.NoDirExists(t, rejected)
	hubs.err = nil
	better, err := install("better")
	require.NoError(t, err)
	require.Equal(t, better, s.good)
	require.NoDirExists(t, good)
}
