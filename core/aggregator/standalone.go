package aggregator

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// RunStandalone starts a plugin separately from the hubs, calls use with it, and stops it. Its error states why the
// plugin does not get ready.
func RunStandalone(ctx context.Context, dir, id string, use func(pluginhost.Plugin) error) error {
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Clock: core.NewSystemClock(nil),
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

// SettingsErrors describes the platforms whose settings a plugin rejects.
func SettingsErrors(ctx context.Context, plugin pluginhost.Plugin, bound []Binding) (found []string, err error) {
	results := map[string]string{} // results by settings, which many platforms share
	for _, b := range bound {
		same := b.Currency + string(b.Settings)
		wrong, known := results[same]
		if !known {
			if wrong, err = settingsError(ctx, plugin,
				pluginhost.Subject{Business: b.Business, Platform: b.Platform, Settings: b.Settings,
					Currency: b.Currency}); err != nil {
				return nil, err
			}
			results[same] = wrong
		}
		if wrong != "" {
			found = append(found, fmt.Sprintf("platform %q of business %d: %s", b.Platform, b.Business, wrong))
		}
	}
	return found, nil
}

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

// RunFromDirectory starts the plugin in a directory as a hub would, under its id.
func RunFromDirectory(ctx context.Context, from, id string, use func(pluginhost.Plugin) error) error {
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
	return RunStandalone(ctx, dir, id, use)
}
