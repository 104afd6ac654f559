package aggregator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// RunStandalone starts a plugin separately from the hubs, calls use with it, and stops it. The plugin cannot see the
// hidden directories, as in a hub. The error states why the plugin does not get ready.
func RunStandalone(ctx context.Context, dir, id string, hidden []string, use func(pluginhost.Plugin) error) error {
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Hidden: hidden, Clock: core.NewSystemClock(nil),
		Observer: NoopObserver{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer host.Close()
	host.Start(id)
	AwaitSettled(ctx, host, 2*sdk.StartTimeout) // it has a fault by then
	switch status := host.Status()[0]; {
	case status.Description != nil:
		return use(host.Plugin(id))
	case len(status.Faults) > 0:
		return fmt.Errorf("plugin %s did not start: %s", id, status.Faults[0].Text)
	default:
		return fmt.Errorf("plugin %s did not start: %w", id, ctx.Err())
	}
}

// NoopObserver is an Observer that does nothing.
type NoopObserver struct{}

// PluginCalled does nothing (pluginhost.Observer).
func (NoopObserver) PluginCalled(_, _, _ string, _ time.Duration) {}

// PluginEntered does nothing (pluginhost.Observer).
func (NoopObserver) PluginEntered(string, pluginhost.State) {}

// settingsError describes why a plugin rejects settings, or returns "" if it accepts them.
func settingsError(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject) (string, error) {
	problems, err := plugin.CheckSettings(ctx, subject)
	if core.CodeOf(err) == core.Invalid {
		return err.Error(), nil
	}
	found := make([]string, len(problems))
	for i, p := range problems {
		found[i] = pluginhost.FormatProblem(p)
	}
	return strings.Join(found, ", "), err
}

// CheckManifest checks a manifest, or that in a directory, and the digests of its programs. If this system can run one,
// it checks that the program starts with the same description. The program cannot see the hidden directories.
func CheckManifest(ctx context.Context, file string, hidden []string) (manifest *sdk.Manifest, started bool,
	err error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, sdk.ManifestName)
	}
	manifest, err = sdk.ReadManifest(file)
	if err != nil {
		return nil, false, err
	}
	for _, binary := range manifest.Binaries {
		err = errors.Join(err, binary.VerifyIn(filepath.Dir(file)))
	}
	_, absent := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err != nil || absent != nil || filepath.Base(file) != sdk.ManifestName {
		return manifest, false, err
	}
	return manifest, true, RunFromDirectory(ctx, filepath.Dir(file), manifest.ID, hidden,
		func(pluginhost.Plugin) error { return nil })
}

// RunFromDirectory starts the plugin in a directory as a hub would, under its id. See RunStandalone.
func RunFromDirectory(ctx context.Context, from, id string, hidden []string,
	use func(pluginhost.Plugin) error) error {
	dir, err := os.MkdirTemp("", "servery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if from, err = filepath.Abs(from); err == nil {
		err = os.Symlink(from, filepath.Join(dir, id))
	}
	if err != nil {
		return err
	}
	return RunStandalone(ctx, dir, id, hidden, use)
}
