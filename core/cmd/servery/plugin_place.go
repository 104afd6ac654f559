package main

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginPlace installs a version of a plugin in the hub's directory.
type pluginPlace struct {
	pluginOperation
	Unchecked bool   `help:"Do not start the program first: where this machine cannot run it, and those of the hubs can."`
	From      string `arg:"" help:"Directory with the plugin's manifest and program."`
}

type pluginInstall struct{ pluginPlace }

// Run installs a plugin.
func (c pluginInstall) Run(ctx context.Context, out output) error {
	return c.place(ctx, out, true, "installed")
}

type pluginUpgrade struct{ pluginPlace }

// Run replaces a plugin. A disabled one stays disabled.
func (c pluginUpgrade) Run(ctx context.Context, out output) error {
	return c.place(ctx, out, false, "upgraded; running hubs change over")
}

// place verifies a plugin, starts it once as a hub would, copies it into the directory, and notifies the hubs. If the
// version does not start, the installed one stays.
func (c pluginPlace) place(ctx context.Context, out output, enable bool, done string) error {
	manifest, err := sdk.ReadManifest(filepath.Join(c.From, sdk.ManifestName))
	if err != nil {
		return err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err == nil {
		err = binary.VerifyIn(c.From)
	}
	if err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		now, says := wanted{ID: manifest.ID, Enabled: true}, manifest.Version+" is "+done
		if !c.Unchecked {
			if now.Unfit, err = c.try(ctx, db, manifest.ID); err != nil {
				return err
			}
		}
		if err := pluginhost.Install(c.dir(), c.From, manifest.ID, binary.Path); err != nil {
			return err
		}
		if p, err := c.pluginFlags.find(ctx, db, manifest.ID); err != nil {
			return err
		} else if !enable && !p.Enabled {
			now.Enabled, says = false, says+"; it stays disabled"
		}
		return c.record(ctx, out, db, now, says)
	})
}

// try starts the version to install, and returns the platforms whose settings it rejects. These settings can be fixed
// only after the installation.
func (c pluginPlace) try(ctx context.Context, db *postgres.DB, id string) (unfit []string, err error) {
	bound, err := calls.NewPlugins(db).InUse(ctx, id)
	if err != nil {
		return nil, err
	}
	return unfit, aggregator.TryOut(ctx, c.From, id, func(plugin pluginhost.Plugin) error {
		unfit, err = aggregator.SettingsErrors(ctx, plugin, bound)
		return err
	})
}
