package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// alone runs a plugin of a directory apart from the hubs, has it asked, and ends it.
// Its error says why the plugin does not get ready.
func alone(ctx context.Context, dir, id string, ask func(pluginhost.Plugin) error) error {
	host, err := pluginhost.Open(pluginhost.Config{Dir: dir, Clock: core.NewSystemClock(nil), Observer: newPluginMetrics(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer host.Close()
	host.Start(id)
	(&pluginHost{Host: host}).await(ctx, 2*sdk.StartWithin) // it has a fault before
	switch status := host.Status()[0]; {
	case status.About != nil:
		return ask(host.Plugin(id))
	case len(status.Faults) > 0:
		return fmt.Errorf("plugin %s does not start: %s", id, status.Faults[0].Text)
	default:
		return fmt.Errorf("plugin %s does not start: %w", id, ctx.Err())
	}
}

// misfits tells, in words, of the platforms whose settings a plugin does not take.
func misfits(ctx context.Context, plugin pluginhost.Plugin, bound []postgres.Bound) (found []string, err error) {
	asked := map[string]string{} // what it has against settings, which many platforms share
	for _, b := range bound {
		same := b.Currency + string(b.Settings)
		wrong, known := asked[same]
		if !known {
			if wrong, err = misfit(ctx, plugin, pluginhost.Subject{Business: b.Business, Platform: b.Platform, Settings: b.Settings, Currency: b.Currency}); err != nil {
				return nil, err
			}
			asked[same] = wrong
		}
		if wrong != "" {
			found = append(found, fmt.Sprintf("platform %q of business %d: %s", b.Platform, b.Business, wrong))
		}
	}
	return found, nil
}

// misfit is what a plugin has against settings; "" where it takes them.
func misfit(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject) (string, error) {
	problems, err := plugin.CheckSettings(ctx, subject)
	if core.CodeOf(err) == core.Invalid {
		return err.Error(), nil
	}
	found := make([]string, len(problems))
	for i, p := range problems {
		found[i] = pluginhost.InWords(p)
	}
	return strings.Join(found, ", "), err
}
